// Arguments that were read once are not read again: they can be huge. A hash stands for one call and its arguments.

import type { CallHash, PendingAsk, ShownArgument } from "../gen/types";

export type Known = {
  hashes: () => CallHash[];
  /** The questions with the arguments that were left out of a reading; those that no longer wait are forgotten. */
  filled: (read: readonly PendingAsk[]) => readonly PendingAsk[];
};

export function knownArguments(): Known {
  let known = new Map<CallHash, ShownArgument[]>();
  return {
    hashes: () => [...known.keys()],
    filled: (read) => {
      const now = new Map<CallHash, ShownArgument[]>();
      const all = read.map((pending): PendingAsk => {
        const { ask } = pending;
        if (ask.ask !== "call") return pending;
        const there = known.get(ask.hash) ?? ask.arguments;
        now.set(ask.hash, there);
        return { ...pending, ask: { ...ask, arguments: there } };
      });
      known = now;
      return all;
    },
  };
}
