// What is loaded lazily: pages, which are prefetched once the first one is shown, and what lies above them.

import { lazyWithPrefetch } from "../components/lazyWithPrefetch";
import type { Route } from "../navigation/route";
import { AddServerForm } from "../servers/AddServerDialog";

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
export const WindowNotices = lazyWithPrefetch(async () => (await import("./WindowNotices")).WindowNotices);

/** The lazily loaded page of a route; the servers page is there from the start. */
export const lazyPages: Partial<Record<Route["page"], { prefetch: () => Promise<unknown> }>> = {
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

/** Prefetches the pages one after the other when idle. A failed one is loaded again on demand. */
export function prefetchPages(): void {
  idle(async () => {
    for (const one of [
      AddServerForm,
      OverviewPage,
      ServerPage,
      ApprovalsPage,
      PermissionsPage,
      ActivityPage,
      SettingsPage,
      ClientsPage,
      PlaygroundPage,
      ChatPage,
    ]) {
      await one.prefetch().catch(() => undefined);
    }
  });
}

/** Not every web view knows when it is idle. */
function idle(act: () => Promise<void>) {
  const begin = () => void act();
  if ("requestIdleCallback" in window) window.requestIdleCallback(begin, { timeout: 2000 });
  else setTimeout(begin, 500);
}
