import type { Query, QueryClient } from "@tanstack/react-query";

/** Makes queries stale and reads those again that are on the page. Resolves when their replies are there. */
export async function readAgain(client: QueryClient, isStale: (query: Query) => boolean = () => true): Promise<void> {
  // A first read that is under way is not begun anew, nor is one that nothing on the page waits for. Each may be of a
  // time before the change, and is therefore followed by another.
  const underWay = client
    .getQueryCache()
    .findAll({ fetchStatus: "fetching", predicate: isStale })
    .filter((query) => query.state.data === undefined || !query.isActive());
  const followed = underWay.map(async (query) => {
    await query.fetch().catch(() => undefined);
    await client.invalidateQueries({ predicate: (one) => one === query });
  });
  await Promise.all([client.invalidateQueries({ predicate: isStale }), ...followed]);
}
