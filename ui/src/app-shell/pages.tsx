import {
  IconActivity,
  IconLayoutDashboard,
  IconMessages,
  IconPlayerPlay,
  IconPlugConnected,
  IconServer2,
  IconSettings,
  IconShieldCheck,
  IconShieldQuestion,
  type TablerIcon,
} from "@tabler/icons-react";

import type { MessageKey } from "../messages";
import type { Route } from "../navigation/route";

export type PageEntry = { name: MessageKey; icon: TablerIcon; route: Route; covers: readonly Route["page"][] };

/** The pages of the sidebar, in order. */
export const pages: readonly PageEntry[] = [
  { name: "appShell.overview", icon: IconLayoutDashboard, route: { page: "overview" }, covers: ["overview"] },
  { name: "appShell.servers", icon: IconServer2, route: { page: "servers" }, covers: ["servers", "server"] },
  { name: "appShell.approvals", icon: IconShieldQuestion, route: { page: "approvals" }, covers: ["approvals"] },
  { name: "appShell.permissions", icon: IconShieldCheck, route: { page: "permissions" }, covers: ["permissions"] },
  { name: "appShell.activity", icon: IconActivity, route: { page: "activity", view: "calls" }, covers: ["activity"] },
  { name: "appShell.clients", icon: IconPlugConnected, route: { page: "clients" }, covers: ["clients"] },
  { name: "appShell.playground", icon: IconPlayerPlay, route: { page: "playground" }, covers: ["playground"] },
  { name: "appShell.chat", icon: IconMessages, route: { page: "chat" }, covers: ["chat"] },
  { name: "appShell.settings", icon: IconSettings, route: { page: "settings" }, covers: ["settings"] },
];
