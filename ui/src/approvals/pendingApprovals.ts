// Arguments and offers that were read once are not read again: they can be huge.

import type { ApprovalId, CallApprovalRequest, PendingApproval } from "../generated/types";

/**
 * After so many replies the questions are shown that are whole by then: large questions that come and go all the time
 * keep no others from being seen. All that may wait at a time fits into half as many.
 */
const mostReadings = 16;

type Read = (known: ApprovalId[]) => Promise<PendingApproval[]>;

/** What the core leaves out for whoever has it. */
type Details = Pick<CallApprovalRequest, "arguments" | "choices" | "denials" | "conditions">;

/**
 * Reads the questions that wait, each with its arguments and what it offers: they come with the first reading of a
 * question and are forgotten when it no longer waits. They never change, so the question's id stands for them.
 * Where one reply has no room for all of them, it is read again until none is missing.
 */
export function questionReader(read: Read): () => Promise<PendingApproval[]> {
  let known = new Map<ApprovalId, Details>();
  return async () => {
    // Another reading may end while this one is on its way.
    const had = new Map(known);
    let all: PendingApproval[] = [];
    for (let reading = 1, isWhole = false; !isWhole && reading <= mostReadings; reading++) {
      all = await read([...had.keys()]);
      const ids = new Set(all.map(({ id }) => id));
      for (const id of had.keys()) if (!ids.has(id)) had.delete(id);
      let hasMore = false;
      for (const { id, ask } of all) {
        if (ask.ask !== "call" || ask.arguments === null) continue;
        had.set(id, detailsOf(ask));
        hasMore = true;
      }
      isWhole = all.every(({ ask }) => !isAbridged(ask));
      if (!isWhole && !hasMore) throw new Error("The arguments of a question are missing.");
    }
    all = all.filter(({ ask }) => !isAbridged(ask));
    const now = new Map<ApprovalId, Details>();
    const whole = all.map((pending): PendingApproval => {
      const { id, ask } = pending;
      if (ask.ask !== "call") return pending;
      const details = had.get(id);
      if (details === undefined) throw new Error(`The arguments of ${id} are missing.`);
      now.set(id, details);
      return { ...pending, ask: { ...ask, ...details } };
    });
    known = now;
    return whole;
  };
}

const isAbridged = (ask: PendingApproval["ask"]) => ask.ask === "call" && ask.isAbridged;

function detailsOf({ arguments: arguments_, choices, denials, conditions }: CallApprovalRequest): Details {
  return { arguments: arguments_, choices, denials, conditions };
}
