// Picks out of what the core offers, to allow and to deny, narrowed at most by a condition. Pure.

import type { ChoiceLifetime, ChoiceScope, Condition, GrantChoice, Message, OfferedChoice, OfferedCondition } from "../../generated/types";
import { conditionMessage, narrowed } from "./conditionMessage";

/** What is picked in the card. */
export type Picked = {
  width: ChoiceScope;
  lifetime: ChoiceLifetime;
  everyClient: boolean;
  condition: Condition | null;
  /** Whether a condition is being written that says nothing yet. */
  isUnfinished: boolean;
};

/** What is picked, as it is sent and as it is said. */
export type Chosen = { choice: GrantChoice; sentence: Message };

/** This one call, this one time. */
export const once: GrantChoice = { lifetime: "once", width: "call", everyClient: false, conditions: [] };

/** Whatever lasts: the choices but for the button that is there by itself. */
export function lasting(choices: readonly OfferedChoice[]): readonly OfferedChoice[] {
  return choices.filter(({ lifetime }) => lifetime !== "once");
}

/** The first choice of each width. */
export function byWidth(offered: readonly OfferedChoice[]): readonly OfferedChoice[] {
  return offered.filter(({ width }, at) => offered.findIndex((other) => other.width === width) === at);
}

/** What a choice covers. */
export function coverOf({ sentence }: OfferedChoice): Message {
  const { what } = sentence.params;
  return what !== undefined && "message" in what ? what.message : sentence;
}

export function lifetimes(offered: readonly OfferedChoice[], picked: Picked): readonly ChoiceLifetime[] {
  const isNarrow = picked.condition !== null || picked.isUnfinished;
  const fits = offered.filter((choice) => choice.width === picked.width && !(isNarrow && choice.lifetime === "once"));
  return [...new Set(fits.map(({ lifetime }) => lifetime))];
}

/** A choice as it is sent. */
export function choiceOf({ lifetime, width, everyClient }: OfferedChoice, condition: Condition | null = null): GrantChoice {
  return { lifetime, width, everyClient, conditions: condition === null ? [] : [condition] };
}

/** What was picked; nothing where the parts do not go together. */
export function chosen(offered: readonly OfferedChoice[], picked: Picked, proposals: readonly OfferedCondition[]): Chosen | null {
  const base = picked.isUnfinished ? null : fitting(offered, picked);
  if (base === null) return null;
  const { condition } = picked;
  const sentence = condition === null ? base.sentence : narrowed(base.sentence, conditionMessage(condition, proposals));
  return { choice: choiceOf(base, condition), sentence };
}

/** Whether what is picked is also offered for every client. */
export function canBeForEvery(offered: readonly OfferedChoice[], picked: Picked): boolean {
  return !picked.isUnfinished && fitting(offered, { ...picked, everyClient: true }) !== null;
}

function fitting(offered: readonly OfferedChoice[], { width, lifetime, everyClient }: Picked): OfferedChoice | null {
  return offered.find((one) => one.width === width && one.lifetime === lifetime && one.everyClient === everyClient) ?? null;
}

/** What is picked to begin a denial with: this call, this once. */
export const denyAtFirst: Picked = { width: "call", lifetime: "once", everyClient: false, condition: null, isUnfinished: false };

/** What is picked at first: this tool, for as long as is offered without being for ever. */
export function atFirst(offered: readonly OfferedChoice[]): Picked {
  const width = offered.find((choice) => choice.width === "tool")?.width ?? offered[0]?.width ?? "tool";
  const fits = offered.filter((choice) => choice.width === width);
  const lifetime = fits.find((choice) => choice.lifetime === "until_quit")?.lifetime ?? fits[0]?.lifetime ?? "until_quit";
  return { width, lifetime, everyClient: false, condition: null, isUnfinished: false };
}

/** Changes a part and brings the others into line with what is offered. */
export function pick(offered: readonly OfferedChoice[], picked: Picked, change: Partial<Picked>): Picked {
  const wanted = { ...picked, ...change };
  // Only a tool's own arguments are known here.
  if (wanted.width !== "tool") {
    wanted.condition = null;
    wanted.isUnfinished = false;
  }
  const fits = lifetimes(offered, wanted);
  if (!fits.includes(wanted.lifetime)) wanted.lifetime = fits[0] ?? wanted.lifetime;
  if (fitting(offered, wanted) === null) wanted.everyClient = false;
  return wanted;
}
