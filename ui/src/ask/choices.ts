// Picks out of what is offered: to allow, what the core offers, narrowed at most by a condition; to deny, the
// same parts in every way in which they go together.

import type { CallAsk, ChoiceLifetime, ChoiceWidth, Condition, GrantChoice } from "../gen/types";

/** What is picked in the card. */
export type Picked = {
  width: ChoiceWidth;
  lifetime: ChoiceLifetime;
  everyClient: boolean;
  condition: Condition | null;
  /** Whether a condition is being written that says nothing yet. */
  isUnfinished: boolean;
};

const same = (one: Condition | null, other: Condition | null) => JSON.stringify(one) === JSON.stringify(other);
const conditionOf = ({ conditions }: GrantChoice): Condition | null => conditions[0] ?? null;

/** This one call, this one time. */
export const once: GrantChoice = { lifetime: "once", width: "call", everyClient: false, conditions: [] };

/** Whatever lasts: the choices but for the button that is there by itself. */
export function lasting(choices: readonly GrantChoice[]): readonly GrantChoice[] {
  return choices.filter(({ lifetime }) => lifetime !== "once");
}

/** Every way to deny (PERM-4). What keeps an allow from lasting keeps no denial from it. */
export function denials({ client, choices, class: { class: access } }: CallAsk): readonly GrantChoice[] {
  const lifetimes = (["quarter_hour", "session", "until_quit", "always"] as const).filter(
    (lifetime) => lifetime !== "session" || client.session !== null,
  );
  const of = (width: ChoiceWidth, conditions: Condition[]): GrantChoice[] =>
    lifetimes.flatMap((lifetime) => {
      const forEvery = lifetime !== "session" && width !== "call" && width !== "client";
      return (forEvery ? [false, true] : [false]).map((everyClient) => ({ lifetime, width, everyClient, conditions }));
    });
  const reads = access === "read" ? (["reads"] as const) : [];
  return [
    once,
    ...(["call", "tool", ...reads, "server", "client"] as const).flatMap((width) => of(width, [])),
    ...conditions(choices, "tool").flatMap((condition) => of("tool", [condition])),
  ];
}

export function widths(offered: readonly GrantChoice[]): readonly ChoiceWidth[] {
  return [...new Set(offered.map(({ width }) => width))];
}

export function conditions(offered: readonly GrantChoice[], width: ChoiceWidth): readonly Condition[] {
  const all = offered.filter((choice) => choice.width === width);
  const found = all.map(conditionOf).filter((condition) => condition !== null);
  return found.filter((condition, at) => found.findIndex((other) => same(condition, other)) === at);
}

export function lifetimes(offered: readonly GrantChoice[], picked: Picked): readonly ChoiceLifetime[] {
  const isNarrow = picked.condition !== null || picked.isUnfinished;
  const fits = offered.filter((choice) => choice.width === picked.width && choice.conditions.length === 0 && !(isNarrow && choice.lifetime === "once"));
  return [...new Set(fits.map(({ lifetime }) => lifetime))];
}

/** The offered choice that was picked, with its condition; nothing where the parts do not go together. */
export function chosen(offered: readonly GrantChoice[], picked: Picked): GrantChoice | null {
  if (picked.isUnfinished) return null;
  const base = offered.find(
    (choice) =>
      choice.width === picked.width &&
      choice.lifetime === picked.lifetime &&
      choice.everyClient === picked.everyClient &&
      choice.conditions.length === 0,
  );
  if (!base) return null;
  return picked.condition === null ? base : { ...base, conditions: [picked.condition] };
}

/** What is picked to begin a denial with: this call, this once. */
export const denyAtFirst: Picked = { width: "call", lifetime: "once", everyClient: false, condition: null, isUnfinished: false };

/** What is picked at first: this tool, for as long as is offered without being for ever. */
export function atFirst(offered: readonly GrantChoice[]): Picked {
  const all = offered.filter(({ conditions: some }) => some.length === 0);
  const width = all.find((choice) => choice.width === "tool")?.width ?? all[0]?.width ?? "tool";
  const fits = all.filter((choice) => choice.width === width);
  const lifetime = fits.find((choice) => choice.lifetime === "until_quit")?.lifetime ?? fits[0]?.lifetime ?? "until_quit";
  return { width, lifetime, everyClient: false, condition: null, isUnfinished: false };
}

/** Changes a part and brings the others into line with what is offered. */
export function pick(offered: readonly GrantChoice[], picked: Picked, change: Partial<Picked>): Picked {
  const wanted = { ...picked, ...change };
  // Only a tool's own arguments are known here.
  if (wanted.width !== "tool") {
    wanted.condition = null;
    wanted.isUnfinished = false;
  }
  const fits = lifetimes(offered, wanted);
  if (!fits.includes(wanted.lifetime)) wanted.lifetime = fits[0] ?? wanted.lifetime;
  if (chosen(offered, { ...wanted, isUnfinished: false }) === null) wanted.everyClient = false;
  return wanted;
}
