import type { CoreConnection } from "../core/connectCore";
import { startFirstRun } from "../first-run/useFirstRun";
import type { ServerView, StatusReport } from "../generated/types";
import { parseRoute } from "../navigation/route";
import type { Preferences } from "../platform";
import { lazyPages } from "./lazyPages";

/**
 * Decides from what was read which page is shown first, and loads it, so that no other page and no placeholder is rendered
 * before it. Never fails: a page that cannot be loaded is loaded again, and its error shown, when it is rendered.
 */
export async function prepareFirstPage({ queries }: CoreConnection, preferences: Preferences): Promise<void> {
  const servers = queries.getQueryData<ServerView[]>(["servers.list", {}]);
  const status = queries.getQueryData<StatusReport>(["status", {}]);
  if (servers && status) startFirstRun(preferences, servers, status.clients);
  await lazyPages[parseRoute(window.location.hash).page].prefetch().catch(() => undefined);
}
