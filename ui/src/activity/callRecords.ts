// The list of calls: what is kept, page by page, and what still runs. Pure.

import type { CallRecord, EventEnvelope, RunningCall } from "../generated/types";

/** The newest page on top of what is there already; both are newest first. */
export function merged(newest: readonly CallRecord[], before: readonly CallRecord[]): readonly CallRecord[] {
  if (before.length === 0) return newest;
  const known = new Set(before.map(({ id }) => id));
  const fresh = newest.filter(({ id }) => !known.has(id));
  return fresh.length === 0 ? before : [...fresh, ...before];
}

/** Takes an event into the calls that run; what else changed is read from the core. */
export function runningAfter(running: readonly RunningCall[], { event }: EventEnvelope): readonly RunningCall[] {
  if (event.event === "call_finished") {
    return running.some(({ call }) => call === event.call) ? running.filter(({ call }) => call !== event.call) : running;
  }
  if (event.event === "call_progress") {
    const { call, progress, total, message } = event;
    return running.map((one) => (one.call === call ? { ...one, sent: true, progress: { progress, total, message } } : one));
  }
  return running;
}

/** How much of a call is done, from 0 to 1; nothing where its server does not say how much there is. */
export function partDone({ progress }: RunningCall): number | null {
  if (progress?.total == null || !(progress.total > 0)) return null;
  return Math.min(1, Math.max(0, progress.progress / progress.total));
}
