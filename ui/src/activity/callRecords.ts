// The list of calls that ended, page by page. Pure.

import type { CallRecord } from "../generated/types";

/**
 * Merges the newest page into the records so far; both are newest first. A record that was there stays the same object, and
 * all of them the same array if nothing is new. Null if there may be records between the two: the page is full, and has
 * none of those before.
 */
export function mergeRecords(
  newest: readonly CallRecord[],
  before: readonly CallRecord[],
  page: number,
): readonly CallRecord[] | null {
  // What is in both is in the first of `before`, which may be very long.
  const known = new Map(before.slice(0, newest.length).map((record) => [record.id, record]));
  const merged = newest.map((record) => known.get(record.id) ?? record);
  if (merged.every((record, at) => record === before[at])) return before;
  if (newest.length >= page && !newest.some(({ id }) => known.has(id))) return null;
  for (const { id } of newest) known.delete(id);
  return [...merged, ...known.values(), ...before.slice(newest.length)];
}
