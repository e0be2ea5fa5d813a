// Calls that the user has made since the page was loaded, with their whole results. They go on while another page is open.
// What was called before is in the records of the core.

import { useSyncExternalStore } from "react";

import { stopRun } from "../core/stopRun";
import type { ResultView, UserError } from "../generated/types";
import { toUserError, type Platform } from "../platform";

/** One call of a tool by the user, with its outcome. */
export type ToolRun = {
  id: string;
  server: string;
  tool: string;
  /** Id of the client in whose name it was made. */
  client: string | null;
  args: string;
  at: number;
  /** Whether the user has cancelled it. */
  isCancelled: boolean;
  end: { shown: ResultView } | { error: UserError } | "running";
};

type NewRun = Pick<ToolRun, "server" | "tool" | "client" | "args">;

/** Maximum number of runs that are kept. Each has the images and sounds of its result. */
const KEPT = 20;

/** Adds a run at the front; the oldest that have ended make way. */
export function addRun(runs: readonly ToolRun[], one: ToolRun): readonly ToolRun[] {
  const ended = runs.filter(({ end }) => end !== "running");
  const old = new Set(ended.slice(KEPT - 1));
  return [one, ...runs.filter((other) => !old.has(other))];
}

/** Sets the outcome of a run that has none yet. */
export function endRun(runs: readonly ToolRun[], id: string, end: ToolRun["end"]): readonly ToolRun[] {
  return runs.map((one) => (one.id === id && one.end === "running" ? { ...one, end } : one));
}

let runs: readonly ToolRun[] = [];
const listeners = new Set<() => void>();

function set(next: readonly ToolRun[]) {
  runs = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

/** The runs, newest first. */
export function useToolRuns(): readonly ToolRun[] {
  return useSyncExternalStore(subscribe, () => runs);
}

/** Calls a tool; returns the id of the run. */
export function startRun(platform: Platform, run: NewRun): string {
  const id = crypto.randomUUID();
  const settle = (end: ToolRun["end"]) => {
    set(endRun(runs, id, end));
  };
  set(addRun(runs, { ...run, id, at: Date.now(), isCancelled: false, end: "running" }));
  const { args, ...rest } = run;
  platform.command("servers.callTool", { ...rest, arguments: args, run: id }).then(
    (shown) => {
      settle({ shown });
    },
    (thrown: unknown) => {
      settle({ error: toUserError(thrown) });
    },
  );
  return id;
}

/** Cancels a run, also at its server. */
export function cancelRun(platform: Platform, id: string) {
  set(runs.map((one) => (one.id === id ? { ...one, isCancelled: true } : one)));
  stopRun(platform, id);
}
