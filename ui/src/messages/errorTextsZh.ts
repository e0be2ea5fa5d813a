// The texts of errors: those of the codes, and those of each part of the core. Both windows load all of them, since an
// error of any part can reach either.

import appErrorsZh from "../../../locales/zh-CN/appErrors.json";
import authErrorsZh from "../../../locales/zh-CN/authErrors.json";
import bundlesErrorsZh from "../../../locales/zh-CN/bundlesErrors.json";
import connectErrorsZh from "../../../locales/zh-CN/connectErrors.json";
import desktopErrorsZh from "../../../locales/zh-CN/desktopErrors.json";
import errorsZh from "../../../locales/zh-CN/errors.json";
import gatewayErrorsZh from "../../../locales/zh-CN/gatewayErrors.json";
import modelsErrorsZh from "../../../locales/zh-CN/modelsErrors.json";
import registryErrorsZh from "../../../locales/zh-CN/registryErrors.json";
import serversErrorsZh from "../../../locales/zh-CN/serversErrors.json";
import storeErrorsZh from "../../../locales/zh-CN/storeErrors.json";
import toolsErrorsZh from "../../../locales/zh-CN/toolsErrors.json";

export const errorTextsZh = {
  ...appErrorsZh,
  ...authErrorsZh,
  ...bundlesErrorsZh,
  ...connectErrorsZh,
  ...desktopErrorsZh,
  ...errorsZh,
  ...gatewayErrorsZh,
  ...modelsErrorsZh,
  ...registryErrorsZh,
  ...serversErrorsZh,
  ...storeErrorsZh,
  ...toolsErrorsZh,
};
