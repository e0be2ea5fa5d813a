// Picks out of the choices that the core offers; nothing else is ever offered.

import type { ChoiceLifetime, ChoiceWidth, Condition, GrantChoice } from "../gen/types";

/** What is picked in the card. */
export type Picked = { width: ChoiceWidth; lifetime: ChoiceLifetime; everyClient: boolean; condition: Condition | null };

const same = (one: Condition | null, other: Condition | null) => JSON.stringify(one) === JSON.stringify(other);
const conditionOf = ({ conditions }: GrantChoice): Condition | null => conditions[0] ?? null;

/** Whatever lasts: the choices but for the button that is there by itself. */
export function lasting(choices: readonly GrantChoice[]): readonly GrantChoice[] {
  return choices.filter(({ lifetime }) => lifetime !== "once");
}

export function widths(choices: readonly GrantChoice[]): readonly ChoiceWidth[] {
  return [...new Set(lasting(choices).map(({ width }) => width))];
}

export function conditions(choices: readonly GrantChoice[], width: ChoiceWidth): readonly Condition[] {
  const all = lasting(choices).filter((choice) => choice.width === width);
  const found = all.map(conditionOf).filter((condition) => condition !== null);
  return found.filter((condition, at) => found.findIndex((other) => same(condition, other)) === at);
}

export function lifetimes(choices: readonly GrantChoice[], picked: Picked): readonly ChoiceLifetime[] {
  const fits = lasting(choices).filter(
    (choice) => choice.width === picked.width && same(conditionOf(choice), picked.condition),
  );
  return [...new Set(fits.map(({ lifetime }) => lifetime))];
}

/** The offered choice that was picked; nothing where the parts do not go together. */
export function chosen(choices: readonly GrantChoice[], picked: Picked): GrantChoice | null {
  return (
    lasting(choices).find(
      (choice) =>
        choice.width === picked.width &&
        choice.lifetime === picked.lifetime &&
        choice.everyClient === picked.everyClient &&
        same(conditionOf(choice), picked.condition),
    ) ?? null
  );
}

/** What is picked at first: this tool, for as long as is offered without being for ever. */
export function atFirst(choices: readonly GrantChoice[]): Picked {
  const all = lasting(choices).filter(({ conditions: some }) => some.length === 0);
  const width = all.find((choice) => choice.width === "tool")?.width ?? all[0]?.width ?? "tool";
  const fits = all.filter((choice) => choice.width === width);
  const lifetime = fits.find((choice) => choice.lifetime === "until_quit")?.lifetime ?? fits[0]?.lifetime ?? "until_quit";
  return { width, lifetime, everyClient: false, condition: null };
}

/** Changes a part and brings the others into line with what is offered. */
export function pick(choices: readonly GrantChoice[], picked: Picked, change: Partial<Picked>): Picked {
  const wanted = { ...picked, ...change };
  if (!conditions(choices, wanted.width).some((one) => same(one, wanted.condition))) wanted.condition = null;
  const offered = lifetimes(choices, wanted);
  if (!offered.includes(wanted.lifetime)) wanted.lifetime = offered[0] ?? wanted.lifetime;
  if (chosen(choices, wanted) === null) wanted.everyClient = false;
  return wanted;
}
