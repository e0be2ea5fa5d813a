import type { CoreConnection } from "./CoreProvider";

/** How long the first paint waits for the core, in milliseconds. Without its replies, the page shows that it loads. */
const WAIT = 400;

/**
 * Reads what every page shows, so that the first paint has it: two renderings of an empty page and then of a full one take
 * almost twice as long as one. Never fails; an error is read again, and shown, by who needs the reply.
 */
export async function readForFirstPaint({ core: { platform }, queries }: CoreConnection): Promise<void> {
  const read = Promise.all([
    queries.prefetchQuery({ queryKey: ["status", {}], queryFn: async () => platform.command("status", {}) }),
    queries.prefetchQuery({
      queryKey: ["servers.list", {}],
      queryFn: async () => platform.command("servers.list", {}),
    }),
    queries.prefetchQuery({ queryKey: ["vault"], queryFn: async () => platform.vault() }),
  ]);
  await Promise.race([read, new Promise((resolve) => setTimeout(resolve, WAIT))]);
}
