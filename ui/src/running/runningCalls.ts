// The calls that run. Pure.

import type { EventEnvelope, RunningCall } from "../generated/types";

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
