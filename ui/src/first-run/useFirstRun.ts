import { useLayoutEffect, useRef } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import type { ServerView } from "../generated/types";
import { navigate } from "../navigation/route";
import type { Preferences } from "../platform";

/** Whether nobody has begun to use this Gatehouse: it has no client, and only servers that it comes with. */
export function isUnused(servers: readonly ServerView[], clients: number): boolean {
  return clients === 0 && servers.every(({ config }) => config.transport.type === "builtin");
}

/** Goes to the first steps if they were never finished or skipped and the window was opened on no page. */
export function startFirstRun({ firstRunDone }: Preferences, servers: readonly ServerView[], clients: number): void {
  const isOnNoPage = ["", "#", "#/"].includes(window.location.hash);
  if (!firstRunDone && isOnNoPage && isUnused(servers, clients)) navigate({ page: "welcome" });
}

/** Calls {@link startFirstRun} once, where the core did not reply before the first rendering. */
export function useFirstRun(preferences: Preferences, clients: number | undefined): void {
  const { data: servers } = useCoreQuery("servers.list", {});
  const wasChecked = useRef(false);
  // Before the paint, which would otherwise be of another page.
  useLayoutEffect(() => {
    if (servers === undefined || clients === undefined || wasChecked.current) return;
    wasChecked.current = true;
    startFirstRun(preferences, servers, clients);
  }, [preferences, servers, clients]);
}
