// Reads pending approvals. Their details (arguments, choices) can be large, so each is read once and cached by id.

import type { ApprovalId, CallApprovalRequest, PendingApproval } from "../generated/types";

/**
 * After this number of replies, the requests that are complete by then are returned: large requests that keep coming
 * must not hide the others. All requests that may be pending at a time fit into half as many replies.
 */
const MAX_READS = 16;

type Read = (known: ApprovalId[]) => Promise<PendingApproval[]>;

/** The members that the core leaves out for ids that are known. */
type Details = Pick<CallApprovalRequest, "arguments" | "choices" | "denials" | "conditions">;

/**
 * Creates a reader of pending approvals with details. Details come with the first reply that has room for them
 * and are dropped when the request is no longer pending. They never change, so they are cached by id.
 * If one reply has no room for all, it reads again until none is missing.
 */
export function createPendingApprovalReader(read: Read): () => Promise<PendingApproval[]> {
  let known = new Map<ApprovalId, Details>();
  return async () => {
    // Another read may finish during this one.
    const had = new Map(known);
    let all: PendingApproval[] = [];
    for (let reading = 1, isWhole = false; !isWhole && reading <= MAX_READS; reading++) {
      all = await read([...had.keys()]);
      const ids = new Set(all.map(({ id }) => id));
      for (const id of had.keys()) if (!ids.has(id)) had.delete(id);
      let hasMore = false;
      for (const { id, request } of all) {
        if (request.kind !== "call" || request.arguments === null) continue;
        had.set(id, detailsOf(request));
        hasMore = true;
      }
      isWhole = all.every(({ request }) => !isAbridged(request));
      if (!isWhole && !hasMore) throw new Error("The arguments of an approval request are missing.");
    }
    all = all.filter(({ request }) => !isAbridged(request));
    const now = new Map<ApprovalId, Details>();
    const whole = all.map((pending): PendingApproval => {
      const { id, request } = pending;
      if (request.kind !== "call") return pending;
      const details = had.get(id);
      if (details === undefined) throw new Error(`The arguments of ${id} are missing.`);
      now.set(id, details);
      return { ...pending, request: { ...request, ...details } };
    });
    known = now;
    return whole;
  };
}

const isAbridged = (request: PendingApproval["request"]) => request.kind === "call" && request.isAbridged;

function detailsOf({ arguments: arguments_, choices, denials, conditions }: CallApprovalRequest): Details {
  return { arguments: arguments_, choices, denials, conditions };
}
