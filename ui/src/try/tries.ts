// What was tried on this visit. Pure.

import type { UserError, ResultView } from "../generated/types";

/** One call of a tool by the user. */
export type Try = {
  id: string;
  tool: string;
  args: string;
  at: number;
  end: { shown: ResultView } | { problem: UserError } | "stopped" | "running";
};

/** So many are kept of each tool. */
const KEPT = 20;

/** With a new one, newest first, and without the oldest of the same tool. */
export function withTry(tries: readonly Try[], one: Try): readonly Try[] {
  const others = tries.filter(({ id }) => id !== one.id);
  const same = others.filter(({ tool }) => tool === one.tool);
  const old = new Set(same.slice(KEPT - 1));
  return [one, ...others.filter((other) => !old.has(other))];
}

/** With the end of one that still ran. */
export function ended(tries: readonly Try[], id: string, end: Try["end"]): readonly Try[] {
  return tries.map((one) => (one.id === id && one.end === "running" ? { ...one, end } : one));
}

/** The arguments in one line. */
export function brief(args: string): string {
  const line = args.replace(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
