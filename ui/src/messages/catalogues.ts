import activityEn from "../../../locales/en/activity.json";
import appEn from "../../../locales/en/app.json";
import appShellEn from "../../../locales/en/appShell.json";
import askEn from "../../../locales/en/ask.json";
import auditEn from "../../../locales/en/audit.json";
import catalogEn from "../../../locales/en/catalog.json";
import clientsEn from "../../../locales/en/clients.json";
import formsEn from "../../../locales/en/forms.json";
import permissionsEn from "../../../locales/en/permissions.json";
import problemsEn from "../../../locales/en/problems.json";
import rulesEn from "../../../locales/en/rules.json";
import serversEn from "../../../locales/en/servers.json";
import settingsEn from "../../../locales/en/settings.json";
import toolRunnerEn from "../../../locales/en/toolRunner.json";
import vaultEn from "../../../locales/en/vault.json";
import activityZh from "../../../locales/zh-CN/activity.json";
import appZh from "../../../locales/zh-CN/app.json";
import appShellZh from "../../../locales/zh-CN/appShell.json";
import askZh from "../../../locales/zh-CN/ask.json";
import auditZh from "../../../locales/zh-CN/audit.json";
import catalogZh from "../../../locales/zh-CN/catalog.json";
import clientsZh from "../../../locales/zh-CN/clients.json";
import formsZh from "../../../locales/zh-CN/forms.json";
import permissionsZh from "../../../locales/zh-CN/permissions.json";
import problemsZh from "../../../locales/zh-CN/problems.json";
import rulesZh from "../../../locales/zh-CN/rules.json";
import serversZh from "../../../locales/zh-CN/servers.json";
import settingsZh from "../../../locales/zh-CN/settings.json";
import toolRunnerZh from "../../../locales/zh-CN/toolRunner.json";
import vaultZh from "../../../locales/zh-CN/vault.json";
import type { Language, Messages } from ".";
import { errorTextsEn, errorTextsZh } from "./errorCatalogues";

/** English. The keys of this catalog are those of every other one. */
export const en = {
  ...activityEn,
  ...appEn,
  ...appShellEn,
  ...askEn,
  ...auditEn,
  ...catalogEn,
  ...clientsEn,
  ...errorTextsEn,
  ...formsEn,
  ...permissionsEn,
  ...problemsEn,
  ...rulesEn,
  ...serversEn,
  ...settingsEn,
  ...toolRunnerEn,
  ...vaultEn,
};

/** Every message of the main window in every language. */
export const catalogues: Record<Language, Messages> = {
  en,
  "zh-CN": {
    ...activityZh,
    ...appZh,
    ...appShellZh,
    ...askZh,
    ...auditZh,
    ...catalogZh,
    ...clientsZh,
    ...errorTextsZh,
    ...formsZh,
    ...permissionsZh,
    ...problemsZh,
    ...rulesZh,
    ...serversZh,
    ...settingsZh,
    ...toolRunnerZh,
    ...vaultZh,
  },
};
