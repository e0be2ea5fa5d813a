// Approval requests grouped by client and server, for the Approvals page. Pure.

import type { SubmittedAnswer, ApprovalRequest, PendingApproval } from "../generated/types";
import { groupKey, type QueueSlot } from "./queue";
import { allowOnce } from "./grants/grantChoices";

/** Approval requests of one client for one server. Either is null if a request has none. */
export type ApprovalGroup = { key: string; client: string | null; server: string | null; slots: readonly QueueSlot[] };

/** Groups in the order of their first request. */
export function groupApprovals(slots: readonly QueueSlot[]): readonly ApprovalGroup[] {
  const groups = new Map<string, ApprovalGroup & { slots: QueueSlot[] }>();
  for (const slot of slots) {
    const { client, server } = partiesOf(slot.pending.request);
    const key = JSON.stringify([client?.id, server?.id]);
    const group = groups.get(key) ?? { key, client: client?.name ?? null, server: server?.name ?? null, slots: [] };
    group.slots.push(slot);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function partiesOf(request: ApprovalRequest) {
  switch (request.kind) {
    case "call":
    case "elicitation":
    case "sampling":
      return { client: request.client, server: request.server };
    case "step_up":
      return { client: null, server: request.server };
    case "client":
    case "command":
    case "config_change":
      return { client: null, server: null };
  }
}

/** The pending calls of a group, in batches of one tool and access class that can be answered together. */
export function batchesOf({ slots }: ApprovalGroup): readonly (readonly PendingApproval[])[] {
  const sets = new Map<string, PendingApproval[]>();
  for (const { pending, end } of slots) {
    const mark = end === null ? groupKey(pending) : null;
    if (mark !== null) sets.set(mark, [...(sets.get(mark) ?? []), pending]);
  }
  return [...sets.values()];
}

/** The same answer, once, for every call of a batch. */
export function answersForBatch(set: readonly PendingApproval[], answer: "allow" | "deny"): SubmittedAnswer[] {
  return set.flatMap(({ id, request }) => {
    if (request.kind !== "call") return [];
    const given =
      answer === "allow"
        ? ({ answer, choice: allowOnce } as const)
        : ({ answer, choice: allowOnce, reason: null } as const);
    return [{ id, hash: request.hash, answer: given }];
  });
}
