// Arguments that were read once are not read again: they can be huge.

import type { AskId, PendingAsk, ShownArgument } from "../gen/types";

type Read = (known: AskId[]) => Promise<PendingAsk[]>;

/**
 * Reads the questions that wait, each with its arguments: they come with the first reading of a question and
 * are forgotten when it no longer waits. What a question is about never changes, so its id stands for them.
 * Where one reply has no room for all of them, it is read again until none is missing.
 */
export function questionReader(read: Read): () => Promise<PendingAsk[]> {
  let known = new Map<AskId, ShownArgument[]>();
  return async () => {
    // Another reading may end while this one is on its way.
    const had = new Map(known);
    let all: PendingAsk[];
    let isWhole: boolean;
    do {
      const before = had.size;
      all = await read([...had.keys()]);
      for (const { id, ask } of all) {
        if (ask.ask === "call" && ask.arguments) had.set(id, ask.arguments);
      }
      isWhole = all.every(({ ask }) => ask.ask !== "call" || !ask.isAbridged);
      if (!isWhole && had.size === before) throw new Error("The arguments of a question are missing.");
    } while (!isWhole);
    const now = new Map<AskId, ShownArgument[]>();
    const whole = all.map((pending): PendingAsk => {
      const { id, ask } = pending;
      if (ask.ask !== "call") return pending;
      const there = had.get(id);
      if (there === undefined) throw new Error(`The arguments of ${id} are missing.`);
      now.set(id, there);
      return { ...pending, ask: { ...ask, arguments: there } };
    });
    known = now;
    return whole;
  };
}
