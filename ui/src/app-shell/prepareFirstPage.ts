import type { CoreConnection } from "../core/connectCore";
import { startFirstRun } from "../first-run/useFirstRun";
import type { ServerView, StatusReport } from "../generated/types";
import { parseRoute } from "../navigation/route";
import type { Preferences } from "../platform";
import { lazyPages, MemoryNotice } from "./lazyPages";

/**
 * Decides from what was read which page is shown first, and loads it with the notice above it, so that no other page and no
 * placeholder is rendered before it. Never fails: a page that cannot be loaded is loaded again, and its error shown, when
 * it is rendered.
 */
export async function prepareFirstPage({ queries }: CoreConnection, preferences: Preferences): Promise<void> {
  const servers = queries.getQueryData<ServerView[]>(["servers.list", {}]);
  const status = queries.getQueryData<StatusReport>(["status", {}]);
  if (servers && status) startFirstRun(preferences, servers, status.clients);
  const shown = [lazyPages[parseRoute(window.location.hash).page]];
  // Later it would push the page down under the pointer.
  if (status?.secrets === "memory") shown.push(MemoryNotice);
  await Promise.all(shown.map((one) => one.prefetch().catch(() => undefined)));
}
