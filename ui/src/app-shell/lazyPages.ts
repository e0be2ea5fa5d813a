// The pages that are not shown first: fetched once the first one stands, and there before somebody goes on.

import { later } from "../components/lazyWithPrefetch";
import { AddForm } from "../servers/AddServerDialog";

export const ServerPage = later(async () => (await import("../servers/ServerPage")).ServerPage);
export const ApprovalsPage = later(async () => (await import("../approvals/ApprovalsPage")).ApprovalsPage);
export const PermissionsPage = later(async () => (await import("../permissions/PermissionsPage")).PermissionsPage);
export const ActivityPage = later(async () => (await import("../activity/ActivityPage")).ActivityPage);
export const ClientsPage = later(async () => (await import("../clients/ClientsPage")).ClientsPage);
export const Unlock = later(async () => (await import("../vault/UnlockScreen")).Unlock);
export const SettingsPage = later(async () => (await import("../settings/SettingsPage")).SettingsPage);

/** Fetches them one after the other, when nothing else is to do. What fails is fetched again when it is wanted. */
export function prefetchPages(): void {
  idle(async () => {
    for (const one of [AddForm, ServerPage, ApprovalsPage, PermissionsPage, ActivityPage, SettingsPage, ClientsPage]) {
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
