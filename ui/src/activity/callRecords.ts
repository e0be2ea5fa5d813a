// The list of calls: what is kept, page by page, and what still runs. Pure.

import type { CallRecord, EventEnvelope, RunningCall } from "../generated/types";

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

/** Applies an event to the running calls; everything else is read from the core. */
export function applyCallEvent(running: readonly RunningCall[], { event }: EventEnvelope): readonly RunningCall[] {
  if (event.event === "call_finished") {
    return running.some(({ call }) => call === event.call)
      ? running.filter(({ call }) => call !== event.call)
      : running;
  }
  if (event.event === "call_progress") {
    const { call, progress, total, message } = event;
    return running.map((one) =>
      one.call === call ? { ...one, sent: true, progress: { progress, total, message } } : one,
    );
  }
  return running;
}

/** Progress from 0 to 1; null if the server reports no total. */
export function progressFraction({ progress }: RunningCall): number | null {
  if (progress?.total == null || !(progress.total > 0)) return null;
  return Math.min(1, Math.max(0, progress.progress / progress.total));
}
