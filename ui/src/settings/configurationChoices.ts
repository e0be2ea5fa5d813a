// What the user decides about a configuration that is imported, and what of it is sent to the core.

import type { ConfigurationChoice, ConfigurationItem, ConfigurationItemKind } from "../generated/types";

/** What is done with one part. */
type ItemPlan = "skip" | "add" | "overwrite" | "rename";

type ItemChoice = { plan: ItemPlan; newName: string };

export type ConfigurationDecisions = {
  /** By the part's index. */
  items: ReadonlyMap<number, ItemChoice>;
  /** Values of inputs by their ids. */
  inputs: ReadonlyMap<string, string>;
  /** Secrets of fields, by the part's index and the field. */
  secrets: ReadonlyMap<string, string>;
};

/** The kinds in the order in which they are shown. */
export const itemKinds: readonly ConfigurationItemKind[] = [
  "server",
  "profile",
  "client",
  "modelProvider",
  "settings",
  "permission",
];

export const canBeImported = ({ problems, conflict }: ConfigurationItem) =>
  problems.length === 0 && conflict?.isSame !== true;

/** Everything that is new is imported. What has a name that is taken, and what widens permissions, is left to the user. */
export function initialConfigurationDecisions(items: readonly ConfigurationItem[]): ConfigurationDecisions {
  const choice = (item: ConfigurationItem): [number, ItemChoice] => [
    item.index,
    {
      plan: canBeImported(item) && item.conflict === null && !item.widens ? "add" : "skip",
      newName: item.conflict?.freeName ?? item.name,
    },
  ];
  return { items: new Map(items.map(choice)), inputs: new Map(), secrets: new Map() };
}

export function itemChoice({ items }: ConfigurationDecisions, { index, name }: ConfigurationItem): ItemChoice {
  return items.get(index) ?? { plan: "skip", newName: name };
}

export function withItemChoice(
  decisions: ConfigurationDecisions,
  item: ConfigurationItem,
  part: Partial<ItemChoice>,
): ConfigurationDecisions {
  const choice = { ...itemChoice(decisions, item), ...part };
  return { ...decisions, items: new Map(decisions.items).set(item.index, choice) };
}

/** Ticks or unticks a part. One whose name is taken is kept beside the other, if that can be. */
export function withItemTick(
  decisions: ConfigurationDecisions,
  item: ConfigurationItem,
  ticked: boolean,
): ConfigurationDecisions {
  const { conflict } = item;
  const plan = conflict === null ? "add" : conflict.freeName === null ? "overwrite" : "rename";
  return withItemChoice(decisions, item, { plan: ticked ? plan : "skip" });
}

export function pickedItems(
  decisions: ConfigurationDecisions,
  items: readonly ConfigurationItem[],
): readonly ConfigurationItem[] {
  return items.filter((item) => itemChoice(decisions, item).plan !== "skip");
}

/** Fields whose secret can be entered: not one that is stored here and stays. */
export function askedSecrets(decisions: ConfigurationDecisions, item: ConfigurationItem): readonly string[] {
  const { plan } = itemChoice(decisions, item);
  if (plan === "skip") return [];
  const kept = plan === "overwrite" ? (item.conflict?.keptSecrets ?? []) : [];
  return item.secrets.filter((field) => !kept.includes(field));
}

export const secretKey = ({ index }: ConfigurationItem, field: string) => `${String(index)} ${field}`;

/** Whether a picked part lacks its new name. */
export function isNameless(decisions: ConfigurationDecisions, picked: readonly ConfigurationItem[]): boolean {
  return picked.some((item) => {
    const { plan, newName } = itemChoice(decisions, item);
    return plan === "rename" && newName.trim() === "";
  });
}

/** The choices as the core takes them. */
export function toConfigurationChoices(
  decisions: ConfigurationDecisions,
  items: readonly ConfigurationItem[],
): ConfigurationChoice[] {
  return pickedItems(decisions, items).map((item) => {
    const { plan, newName } = itemChoice(decisions, item);
    const secrets = askedSecrets(decisions, item).flatMap((field) => {
      const value = decisions.secrets.get(secretKey(item, field)) ?? "";
      return value === "" ? [] : [{ field, value }];
    });
    const action = plan === "rename" ? { rename: newName.trim() } : plan === "overwrite" ? plan : "add";
    return { index: item.index, action, secrets };
  });
}
