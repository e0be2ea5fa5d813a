// The list of calls that ended, page by page. Pure.

import type { CallFilter, CallId, CallRecord, Timestamp } from "../generated/types";

/** A call that ended, and when it began. */
export type EndedCall = { id: CallId; began: Timestamp };

/** How much a beginning that was reckoned back from the end may differ from that of the record, in milliseconds. */
const ROUNDING = 10;

/** The calls that ended and began before the newest page, which is newest first: their records are on an older one. */
export function endedBefore(
  newest: readonly CallRecord[],
  ended: readonly EndedCall[],
  page: number,
): readonly EndedCall[] {
  const first = newest.length < page ? undefined : newest.at(-1);
  if (first === undefined) return [];
  const known = new Set(newest.map(({ id }) => id));
  return ended.filter(({ id, began }) => began <= first.at + ROUNDING && !known.has(id));
}

/** The calls of a filter among which the record of such a call is. */
export function around({ began }: EndedCall, { since, until, ...filter }: CallFilter): CallFilter {
  const [from, to] = [began - ROUNDING, began + ROUNDING];
  return { ...filter, since: Math.max(since ?? from, from), until: Math.min(until ?? to, to) };
}

/** Puts a record in its place among others, which are newest first; nowhere if it is older than all and they may be followed by others. */
export function withLate(records: readonly CallRecord[], late: CallRecord, hasOldest: boolean): readonly CallRecord[] {
  if (records.some(({ id }) => id === late.id)) return records;
  const at = records.findIndex((one) => one.at < late.at || (one.at === late.at && one.id < late.id));
  if (at < 0) return hasOldest ? [...records, late] : records;
  return records.toSpliced(at, 0, late);
}

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
