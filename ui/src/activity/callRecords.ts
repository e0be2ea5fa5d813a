// The list of calls: what is kept, page by page, and what still runs. Pure.

import type { CallRecord, EventEnvelope, RunningCall } from "../generated/types";

/** Merges the newest page into the records so far; both are newest first. */
export function mergeRecords(newest: readonly CallRecord[], before: readonly CallRecord[]): readonly CallRecord[] {
  if (before.length === 0) return newest;
  const known = new Set(before.map(({ id }) => id));
  const fresh = newest.filter(({ id }) => !known.has(id));
  return fresh.length === 0 ? before : [...fresh, ...before];
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
