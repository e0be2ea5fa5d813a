import activityZh from "../../../locales/zh-CN/activity.json";
import appZh from "../../../locales/zh-CN/app.json";
import appShellZh from "../../../locales/zh-CN/appShell.json";
import askZh from "../../../locales/zh-CN/ask.json";
import auditZh from "../../../locales/zh-CN/audit.json";
import bundlesZh from "../../../locales/zh-CN/bundles.json";
import catalogZh from "../../../locales/zh-CN/catalog.json";
import chatZh from "../../../locales/zh-CN/chat.json";
import clientsZh from "../../../locales/zh-CN/clients.json";
import formsZh from "../../../locales/zh-CN/forms.json";
import importsZh from "../../../locales/zh-CN/imports.json";
import modelsZh from "../../../locales/zh-CN/models.json";
import overviewZh from "../../../locales/zh-CN/overview.json";
import permissionsZh from "../../../locales/zh-CN/permissions.json";
import playgroundZh from "../../../locales/zh-CN/playground.json";
import problemsZh from "../../../locales/zh-CN/problems.json";
import proposalsZh from "../../../locales/zh-CN/proposals.json";
import registryZh from "../../../locales/zh-CN/registry.json";
import rulesZh from "../../../locales/zh-CN/rules.json";
import serversZh from "../../../locales/zh-CN/servers.json";
import settingsZh from "../../../locales/zh-CN/settings.json";
import vaultZh from "../../../locales/zh-CN/vault.json";
import type { Messages } from ".";
import { errorTextsZh } from "./errorTextsZh";

/** 简体中文. */
export const zhCn: Messages = {
  ...activityZh,
  ...appZh,
  ...appShellZh,
  ...askZh,
  ...auditZh,
  ...bundlesZh,
  ...catalogZh,
  ...chatZh,
  ...clientsZh,
  ...errorTextsZh,
  ...formsZh,
  ...importsZh,
  ...modelsZh,
  ...overviewZh,
  ...permissionsZh,
  ...playgroundZh,
  ...problemsZh,
  ...proposalsZh,
  ...registryZh,
  ...rulesZh,
  ...serversZh,
  ...settingsZh,
  ...vaultZh,
};
