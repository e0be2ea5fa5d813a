import { describe, expect, it } from "vitest";

import type { ApprovalId, PendingApproval } from "../generated/types";
import { someAsk } from "./testApprovals";
import { questionReader } from "./pendingApprovals";

function bare(pending: PendingApproval, isAbridged: boolean): PendingApproval {
  return pending.ask.ask === "call"
    ? { ...pending, ask: { ...pending.ask, arguments: null, choices: [], denials: [], conditions: [], isAbridged } }
    : pending;
}

/** A core that leaves out what is known, and what one reply has no room for. */
function core(room = Infinity) {
  const state = { waiting: [] as PendingApproval[], asked: [] as ApprovalId[][] };
  const read = questionReader((known) => {
    state.asked.push(known);
    let left = room;
    const shown = (one: PendingApproval) => {
      if (known.includes(one.id)) return bare(one, false);
      left -= 1;
      return left < 0 ? bare(one, true) : one;
    };
    return Promise.resolve(state.waiting.map(shown));
  });
  return { state, read };
}

describe("arguments and offers that were read once", () => {
  it("are not read again, and stand where they were left out", async () => {
    const { state, read } = core();
    state.waiting = [someAsk("a"), someAsk("b", { arguments: [] })];
    const first = await read();
    expect(first).toEqual(state.waiting);
    state.waiting = [...state.waiting, someAsk("c")];
    expect(await read()).toEqual(state.waiting);
    expect(state.asked).toEqual([[], ["a", "b"]]);
  });

  it("are forgotten with their question", async () => {
    const { state, read } = core();
    state.waiting = [someAsk("a")];
    await read();
    state.waiting = [];
    await read();
    await read();
    expect(state.asked).toEqual([[], ["a"], []]);
  });

  it("belong to a reading that began before another one ended", async () => {
    const { state, read } = core();
    state.waiting = [someAsk("a")];
    await read();
    const both = [read(), read()];
    expect(await Promise.all(both)).toEqual([state.waiting, state.waiting]);
  });

  it("come one after the other where a reply has no room for all of them", async () => {
    const { state, read } = core(1);
    state.waiting = [someAsk("a"), someAsk("b"), someAsk("c")];
    expect(await read()).toEqual(state.waiting);
    expect(state.asked).toEqual([[], ["a"], ["a", "b"]]);
  });

  it("show what is whole when large ones come and go without end", async () => {
    let next = 0;
    const small = someAsk("small");
    const read = questionReader((known) => {
      next += 1;
      const whole = known.includes("small") ? bare(small, false) : small;
      return Promise.resolve([whole, someAsk(`large-${String(next)}`), bare(someAsk(`large-${String(next + 1)}`), true)]);
    });
    expect((await read()).map(({ id }) => id)).toEqual(["small", "large-16"]);
  });

  it("that are missing are an error and never an empty list", async () => {
    for (const isAbridged of [false, true]) {
      const one = bare(someAsk("a"), isAbridged);
      await expect(questionReader(() => Promise.resolve([one]))()).rejects.toThrow("missing");
    }
  });
});
