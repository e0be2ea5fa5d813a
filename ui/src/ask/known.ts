// Arguments and offers that were read once are not read again: they can be huge.

import type { AskId, CallAsk, PendingAsk } from "../gen/types";

type Read = (known: AskId[]) => Promise<PendingAsk[]>;

/** What the core leaves out for whoever has it. */
type Details = Pick<CallAsk, "arguments" | "choices" | "denials" | "conditions">;

/**
 * Reads the questions that wait, each with its arguments and what it offers: they come with the first reading of a
 * question and are forgotten when it no longer waits. They never change, so the question's id stands for them.
 * Where one reply has no room for all of them, it is read again until none is missing.
 */
export function questionReader(read: Read): () => Promise<PendingAsk[]> {
  let known = new Map<AskId, Details>();
  return async () => {
    // Another reading may end while this one is on its way.
    const had = new Map(known);
    let all: PendingAsk[];
    let isWhole: boolean;
    do {
      const before = had.size;
      all = await read([...had.keys()]);
      for (const { id, ask } of all) {
        if (ask.ask === "call" && ask.arguments !== null) had.set(id, detailsOf(ask));
      }
      isWhole = all.every(({ ask }) => ask.ask !== "call" || !ask.isAbridged);
      if (!isWhole && had.size === before) throw new Error("The arguments of a question are missing.");
    } while (!isWhole);
    const now = new Map<AskId, Details>();
    const whole = all.map((pending): PendingAsk => {
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

function detailsOf({ arguments: arguments_, choices, denials, conditions }: CallAsk): Details {
  return { arguments: arguments_, choices, denials, conditions };
}
