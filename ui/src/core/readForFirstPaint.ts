import type { QueryKey } from "@tanstack/react-query";

import type { CoreConnection } from "./connectCore";

/** How long the first paint waits for the core, in milliseconds. Without its replies, the page shows that it loads. */
const WAIT = 400;

/**
 * Reads what every page shows, so that the first paint has it: an empty page rendered first and a full one after it take
 * almost twice as long. Never fails; an error is met again, and shown, by who needs the reply.
 */
export async function readForFirstPaint({ core: { platform }, queries }: CoreConnection): Promise<void> {
  const read = async (queryKey: QueryKey, queryFn: () => Promise<unknown>) =>
    queries.query({ queryKey, queryFn }).catch(() => undefined);
  const all = Promise.all([
    read(["status", {}], async () => platform.command("status", {})),
    read(["servers.list", {}], async () => platform.command("servers.list", {})),
    read(["vault"], async () => platform.vault()),
  ]);
  await Promise.race([all, new Promise((resolve) => setTimeout(resolve, WAIT))]);
}
