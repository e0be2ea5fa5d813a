// The texts of errors: those of the codes, and those of each part of the core. Both windows load all of them, since an
// error of any part can reach either.

import appErrorsEn from "../../../locales/en/appErrors.json";
import authErrorsEn from "../../../locales/en/authErrors.json";
import bundlesErrorsEn from "../../../locales/en/bundlesErrors.json";
import connectErrorsEn from "../../../locales/en/connectErrors.json";
import desktopErrorsEn from "../../../locales/en/desktopErrors.json";
import errorsEn from "../../../locales/en/errors.json";
import gatewayErrorsEn from "../../../locales/en/gatewayErrors.json";
import modelsErrorsEn from "../../../locales/en/modelsErrors.json";
import registryErrorsEn from "../../../locales/en/registryErrors.json";
import serversErrorsEn from "../../../locales/en/serversErrors.json";
import storeErrorsEn from "../../../locales/en/storeErrors.json";
import toolsErrorsEn from "../../../locales/en/toolsErrors.json";

export const errorTextsEn = {
  ...appErrorsEn,
  ...authErrorsEn,
  ...bundlesErrorsEn,
  ...connectErrorsEn,
  ...desktopErrorsEn,
  ...errorsEn,
  ...gatewayErrorsEn,
  ...modelsErrorsEn,
  ...registryErrorsEn,
  ...serversErrorsEn,
  ...storeErrorsEn,
  ...toolsErrorsEn,
};
