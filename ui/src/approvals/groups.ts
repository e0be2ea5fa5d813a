// Questions by whose they are, for where all of them stand. Pure.

import type { SubmittedAnswer, ApprovalRequest, PendingApproval } from "../generated/types";
import { groupMark, type Slot } from "./queue";
import { once } from "./grants/grantChoices";

/** Questions of one client about one server. Either is absent where a question has none. */
export type Group = { key: string; client: string | null; server: string | null; slots: readonly Slot[] };

/** In the order in which the first one of each came. */
export function groupsOf(slots: readonly Slot[]): readonly Group[] {
  const groups = new Map<string, Group & { slots: Slot[] }>();
  for (const slot of slots) {
    const { client, server } = whose(slot.pending.ask);
    const key = JSON.stringify([client?.id, server?.id]);
    const group = groups.get(key) ?? { key, client: client?.name ?? null, server: server?.name ?? null, slots: [] };
    group.slots.push(slot);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function whose(ask: ApprovalRequest) {
  switch (ask.ask) {
    case "call":
    case "elicitation":
    case "sampling":
      return { client: ask.client, server: ask.server };
    case "step_up":
      return { client: null, server: ask.server };
    case "client":
    case "config_change":
      return { client: null, server: null };
  }
}

/** The calls of a group that wait, in sets that can be answered together: of one tool and class. */
export function setsOf({ slots }: Group): readonly (readonly PendingApproval[])[] {
  const sets = new Map<string, PendingApproval[]>();
  for (const { pending, end } of slots) {
    const mark = end === null ? groupMark(pending) : null;
    if (mark !== null) sets.set(mark, [...(sets.get(mark) ?? []), pending]);
  }
  return [...sets.values()];
}

/** The same answer, for this once, to every call of a set. */
export function answersTo(set: readonly PendingApproval[], answer: "allow" | "deny"): SubmittedAnswer[] {
  return set.flatMap(({ id, ask }) => {
    if (ask.ask !== "call") return [];
    const given = answer === "allow" ? ({ answer, choice: once } as const) : ({ answer, choice: once, reason: null } as const);
    return [{ id, hash: ask.hash, answer: given }];
  });
}
