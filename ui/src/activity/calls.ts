// The list of calls: what is kept, page by page, and what still runs. Pure.

import type { CallRecord, Envelope } from "../gen/types";

/** A call that has begun and not ended. */
export type Running = { id: string; at: number; client: string; server: string; tool: string };

/** The newest page on top of what is there already; both are newest first. */
export function merged(newest: readonly CallRecord[], before: readonly CallRecord[]): readonly CallRecord[] {
  if (before.length === 0) return newest;
  const known = new Set(before.map(({ id }) => id));
  const fresh = newest.filter(({ id }) => !known.has(id));
  return fresh.length === 0 ? before : [...fresh, ...before];
}

/** Takes an event into the calls that run. */
export function runningAfter(running: readonly Running[], { at, event }: Envelope): readonly Running[] {
  if (event.event === "call_started") {
    const { call, client, server, tool } = event;
    return [...running.filter(({ id }) => id !== call), { id: call, at, client, server, tool }];
  }
  if (event.event === "call_finished") return running.filter(({ id }) => id !== event.call);
  return running;
}
