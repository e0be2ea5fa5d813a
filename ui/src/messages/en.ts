import activityEn from "../../../locales/en/activity.json";
import appEn from "../../../locales/en/app.json";
import appShellEn from "../../../locales/en/appShell.json";
import askEn from "../../../locales/en/ask.json";
import auditEn from "../../../locales/en/audit.json";
import bundlesEn from "../../../locales/en/bundles.json";
import catalogEn from "../../../locales/en/catalog.json";
import chatEn from "../../../locales/en/chat.json";
import clientsEn from "../../../locales/en/clients.json";
import formsEn from "../../../locales/en/forms.json";
import importsEn from "../../../locales/en/imports.json";
import modelsEn from "../../../locales/en/models.json";
import overviewEn from "../../../locales/en/overview.json";
import permissionsEn from "../../../locales/en/permissions.json";
import playgroundEn from "../../../locales/en/playground.json";
import problemsEn from "../../../locales/en/problems.json";
import proposalsEn from "../../../locales/en/proposals.json";
import registryEn from "../../../locales/en/registry.json";
import rulesEn from "../../../locales/en/rules.json";
import serversEn from "../../../locales/en/servers.json";
import settingsEn from "../../../locales/en/settings.json";
import vaultEn from "../../../locales/en/vault.json";
import { errorTextsEn } from "./errorTextsEn";

/** English. The keys of this catalog are those of every other one. */
export const en = {
  ...activityEn,
  ...appEn,
  ...appShellEn,
  ...askEn,
  ...auditEn,
  ...bundlesEn,
  ...catalogEn,
  ...chatEn,
  ...clientsEn,
  ...errorTextsEn,
  ...formsEn,
  ...importsEn,
  ...modelsEn,
  ...overviewEn,
  ...permissionsEn,
  ...playgroundEn,
  ...problemsEn,
  ...proposalsEn,
  ...registryEn,
  ...rulesEn,
  ...serversEn,
  ...settingsEn,
  ...vaultEn,
};
