// The run history of the tool runner, kept as long as the page. Pure.

import type { UserError, ResultView } from "../generated/types";

/** One call of a tool by the user, with its outcome. */
export type ToolRun = {
  id: string;
  tool: string;
  args: string;
  at: number;
  end: { shown: ResultView } | { error: UserError } | "stopped" | "running";
};

/** Maximum number of runs that are kept for each tool. */
const KEPT = 20;

/** Adds a run at the front; the oldest of the same tool makes way. */
export function addRun(runs: readonly ToolRun[], one: ToolRun): readonly ToolRun[] {
  const others = runs.filter(({ id }) => id !== one.id);
  const same = others.filter(({ tool }) => tool === one.tool);
  const old = new Set(same.slice(KEPT - 1));
  return [one, ...others.filter((other) => !old.has(other))];
}

/** Sets the outcome of a run that has none yet. */
export function endRun(runs: readonly ToolRun[], id: string, end: ToolRun["end"]): readonly ToolRun[] {
  return runs.map((one) => (one.id === id && one.end === "running" ? { ...one, end } : one));
}

/** The arguments in one line. */
export function argumentsLine(args: string): string {
  const line = args.replace(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
