// What is loaded lazily: pages, which are prefetched once the first one is shown, and what lies above them.

import { OpenedActionMenu } from "../components/ActionMenu";
import { lazyWithPrefetch, prefetchWhenIdle, type Prefetched } from "../components/lazyWithPrefetch";
import { ConfirmDialog } from "../components/useConfirm";
import type { Route } from "../navigation/route";

export const ServersPage = lazyWithPrefetch(async () => (await import("../servers/ServersPage")).ServersPage);
export const OverviewPage = lazyWithPrefetch(async () => (await import("../overview/OverviewPage")).OverviewPage);
export const ServerPage = lazyWithPrefetch(async () => (await import("../servers/ServerPage")).ServerPage);
export const ApprovalsPage = lazyWithPrefetch(async () => (await import("../approvals/ApprovalsPage")).ApprovalsPage);
export const PermissionsPage = lazyWithPrefetch(
  async () => (await import("../permissions/PermissionsPage")).PermissionsPage,
);
export const ActivityPage = lazyWithPrefetch(async () => (await import("../activity/ActivityPage")).ActivityPage);
export const ClientsPage = lazyWithPrefetch(async () => (await import("../clients/ClientsPage")).ClientsPage);
export const PlaygroundPage = lazyWithPrefetch(
  async () => (await import("../playground/PlaygroundPage")).PlaygroundPage,
);
export const ChatPage = lazyWithPrefetch(async () => (await import("../chat/ChatPage")).ChatPage);
export const FirstRunPage = lazyWithPrefetch(async () => (await import("../first-run/FirstRunPage")).FirstRunPage);
export const UnlockScreen = lazyWithPrefetch(async () => (await import("../vault/UnlockScreen")).UnlockScreen);
export const SettingsPage = lazyWithPrefetch(async () => (await import("../settings/SettingsPage")).SettingsPage);

export const ShellOverlays = lazyWithPrefetch(async () => (await import("./ShellOverlays")).ShellOverlays);
export const MemoryNotice = lazyWithPrefetch(async () => (await import("../vault/MemoryNotice")).MemoryNotice);
export const WindowNotices = lazyWithPrefetch(async () => (await import("./WindowNotices")).WindowNotices);

/** What adds a server, which most pages do not show before it is asked for. */
const addServer: Prefetched = {
  prefetch: async () => (await import("../servers/AddServerModal")).AddServerForm.prefetch(),
};

/** The page of a route. */
export const lazyPages: Record<Route["page"], Prefetched> = {
  servers: ServersPage,
  overview: OverviewPage,
  server: ServerPage,
  approvals: ApprovalsPage,
  permissions: PermissionsPage,
  activity: ActivityPage,
  clients: ClientsPage,
  playground: PlaygroundPage,
  chat: ChatPage,
  settings: SettingsPage,
  welcome: FirstRunPage,
};

/** Prefetches the pages, and what opens on them, once the first one is shown. */
export function prefetchPages(): void {
  prefetchWhenIdle([
    ServersPage,
    OpenedActionMenu,
    addServer,
    ConfirmDialog,
    OverviewPage,
    ServerPage,
    ApprovalsPage,
    PermissionsPage,
    ActivityPage,
    SettingsPage,
    ClientsPage,
    PlaygroundPage,
    ChatPage,
  ]);
}
