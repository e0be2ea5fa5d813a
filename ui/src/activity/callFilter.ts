// What the list of calls is filtered by. Pure.

import type { CallFilter, Decision, OutcomeClass } from "../generated/types";
import { everyCall } from "../core/callFilter";

export const decisions: readonly Decision[] = ["allow", "deny", "ask"];
export const outcomes: readonly OutcomeClass[] = ["ok", "error", "denied", "unfinished"];

/** Time ranges until now, by their length in milliseconds. */
export const ranges = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 30 * 86_400_000,
} as const;

export type Range = keyof typeof ranges;

/** What is chosen; empty where nothing is. */
export type CallChoice = {
  text: string;
  client: string;
  server: string;
  tool: string;
  decision: Decision | "";
  outcome: OutcomeClass | "";
  range: Range | "";
  /** When the range was chosen, so that the list does not move with the time. */
  now: number;
};

export const noChoice: CallChoice = {
  text: "",
  client: "",
  server: "",
  tool: "",
  decision: "",
  outcome: "",
  range: "",
  now: 0,
};

/** Whether anything is chosen. */
export function isFiltered({ text, client, server, tool, decision, outcome, range }: CallChoice): boolean {
  return [text.trim(), client, server, tool, decision, outcome, range].some((value) => value !== "");
}

/** The filter for a choice; of one server alone where it is given. */
export function filterOf({ now, ...choice }: CallChoice, of: string | null): CallFilter {
  return {
    ...everyCall,
    text: choice.text.trim() || null,
    client: choice.client || null,
    server: of ?? (choice.server || null),
    tool: choice.tool || null,
    decision: choice.decision || null,
    outcome: choice.outcome || null,
    since: choice.range === "" ? null : now - ranges[choice.range],
  };
}
