// Selection among the choices that the core offers, for allow and deny, optionally narrowed by a condition. Pure.

import type {
  ChoiceLifetime,
  ChoiceScope,
  Condition,
  GrantChoice,
  Message,
  OfferedChoice,
  OfferedCondition,
} from "../../generated/types";
import { conditionMessage, withCondition } from "./conditionMessage";

/** The state of the selection. */
export type GrantSelection = {
  width: ChoiceScope;
  lifetime: ChoiceLifetime;
  everyClient: boolean;
  condition: Condition | null;
  /** Whether a condition is being written that is incomplete. */
  isUnfinished: boolean;
};

/** The selection as it is sent, and its description. */
export type SelectedGrant = { choice: GrantChoice; sentence: Message };

/** Allow or deny this call, once. */
export const allowOnce: GrantChoice = { lifetime: "once", width: "call", everyClient: false, conditions: [] };

/** The choices except "once", which has a button of its own. */
export function lastingChoices(choices: readonly OfferedChoice[]): readonly OfferedChoice[] {
  return choices.filter(({ lifetime }) => lifetime !== "once");
}

/** The first choice of each scope. */
export function onePerScope(offered: readonly OfferedChoice[]): readonly OfferedChoice[] {
  return offered.filter(({ width }, at) => offered.findIndex((other) => other.width === width) === at);
}

/** What a choice covers. */
export function coverageOf({ sentence }: OfferedChoice): Message {
  const { what } = sentence.params;
  return what !== undefined && "message" in what ? what.message : sentence;
}

export function availableLifetimes(
  offered: readonly OfferedChoice[],
  picked: GrantSelection,
): readonly ChoiceLifetime[] {
  const isNarrow = picked.condition !== null || picked.isUnfinished;
  const fits = offered.filter((choice) => choice.width === picked.width && !(isNarrow && choice.lifetime === "once"));
  return [...new Set(fits.map(({ lifetime }) => lifetime))];
}

/** An offered choice as it is sent. */
export function toGrantChoice(
  { lifetime, width, everyClient }: OfferedChoice,
  condition: Condition | null = null,
): GrantChoice {
  return { lifetime, width, everyClient, conditions: condition === null ? [] : [condition] };
}

/** The selected grant; null if its parts don't match an offered choice. */
export function selectedGrant(
  offered: readonly OfferedChoice[],
  picked: GrantSelection,
  proposals: readonly OfferedCondition[],
): SelectedGrant | null {
  const base = picked.isUnfinished ? null : findOffered(offered, picked);
  if (base === null) return null;
  const { condition } = picked;
  const sentence =
    condition === null ? base.sentence : withCondition(base.sentence, conditionMessage(condition, proposals));
  return { choice: toGrantChoice(base, condition), sentence };
}

/** Whether the selection is also offered for every client. */
export function canCoverEveryClient(offered: readonly OfferedChoice[], picked: GrantSelection): boolean {
  return !picked.isUnfinished && findOffered(offered, { ...picked, everyClient: true }) !== null;
}

function findOffered(
  offered: readonly OfferedChoice[],
  { width, lifetime, everyClient }: GrantSelection,
): OfferedChoice | null {
  return (
    offered.find((one) => one.width === width && one.lifetime === lifetime && one.everyClient === everyClient) ?? null
  );
}

/** The initial selection of a denial: this call, once. */
export const initialDenial: GrantSelection = {
  width: "call",
  lifetime: "once",
  everyClient: false,
  condition: null,
  isUnfinished: false,
};

/** The initial selection of an allow: this tool, until Gatehouse quits. */
export function initialAllow(offered: readonly OfferedChoice[]): GrantSelection {
  const width = offered.find((choice) => choice.width === "tool")?.width ?? offered[0]?.width ?? "tool";
  const fits = offered.filter((choice) => choice.width === width);
  const lifetime =
    fits.find((choice) => choice.lifetime === "until_quit")?.lifetime ?? fits[0]?.lifetime ?? "until_quit";
  return { width, lifetime, everyClient: false, condition: null, isUnfinished: false };
}

/** Changes a part and adjusts the others to what is offered. */
export function updateSelection(
  offered: readonly OfferedChoice[],
  picked: GrantSelection,
  change: Partial<GrantSelection>,
): GrantSelection {
  const wanted = { ...picked, ...change };
  // Conditions apply to one tool's arguments.
  if (wanted.width !== "tool") {
    wanted.condition = null;
    wanted.isUnfinished = false;
  }
  const fits = availableLifetimes(offered, wanted);
  if (!fits.includes(wanted.lifetime)) wanted.lifetime = fits[0] ?? wanted.lifetime;
  if (findOffered(offered, wanted) === null) wanted.everyClient = false;
  return wanted;
}
