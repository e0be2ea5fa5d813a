// The texts of errors: those of the codes, and those of each part of the core. Both windows load all of them, since an
// error of any part can reach either.

import appErrorsEn from "../../../locales/en/appErrors.json";
import authErrorsEn from "../../../locales/en/authErrors.json";
import desktopErrorsEn from "../../../locales/en/desktopErrors.json";
import errorsEn from "../../../locales/en/errors.json";
import gatewayErrorsEn from "../../../locales/en/gatewayErrors.json";
import serversErrorsEn from "../../../locales/en/serversErrors.json";
import storeErrorsEn from "../../../locales/en/storeErrors.json";
import toolsErrorsEn from "../../../locales/en/toolsErrors.json";
import appErrorsZh from "../../../locales/zh-CN/appErrors.json";
import authErrorsZh from "../../../locales/zh-CN/authErrors.json";
import desktopErrorsZh from "../../../locales/zh-CN/desktopErrors.json";
import errorsZh from "../../../locales/zh-CN/errors.json";
import gatewayErrorsZh from "../../../locales/zh-CN/gatewayErrors.json";
import serversErrorsZh from "../../../locales/zh-CN/serversErrors.json";
import storeErrorsZh from "../../../locales/zh-CN/storeErrors.json";
import toolsErrorsZh from "../../../locales/zh-CN/toolsErrors.json";

export const errorTextsEn = {
  ...appErrorsEn,
  ...authErrorsEn,
  ...desktopErrorsEn,
  ...errorsEn,
  ...gatewayErrorsEn,
  ...serversErrorsEn,
  ...storeErrorsEn,
  ...toolsErrorsEn,
};

export const errorTextsZh = {
  ...appErrorsZh,
  ...authErrorsZh,
  ...desktopErrorsZh,
  ...errorsZh,
  ...gatewayErrorsZh,
  ...serversErrorsZh,
  ...storeErrorsZh,
  ...toolsErrorsZh,
};
