import {
  IconActivity,
  IconPlugConnected,
  IconServer2,
  IconSettings,
  IconShieldCheck,
  IconShieldQuestion,
  type TablerIcon,
} from "@tabler/icons-react";

import type { MessageKey } from "../messages";
import type { Route } from "./route";

export type PageEntry = { name: MessageKey; icon: TablerIcon; route: Route; covers: readonly Route["page"][] };

/** The pages of the sidebar, in order. */
export const pages: readonly PageEntry[] = [
  { name: "frame.servers", icon: IconServer2, route: { page: "servers" }, covers: ["servers", "server"] },
  { name: "frame.approvals", icon: IconShieldQuestion, route: { page: "approvals" }, covers: ["approvals"] },
  { name: "frame.permissions", icon: IconShieldCheck, route: { page: "permissions" }, covers: ["permissions"] },
  { name: "frame.activity", icon: IconActivity, route: { page: "activity", view: "calls" }, covers: ["activity"] },
  { name: "frame.clients", icon: IconPlugConnected, route: { page: "clients" }, covers: ["clients"] },
  { name: "frame.settings", icon: IconSettings, route: { page: "settings" }, covers: ["settings"] },
];
