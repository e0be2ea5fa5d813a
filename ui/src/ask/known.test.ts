import { describe, expect, it } from "vitest";

import type { AskId, PendingAsk } from "../gen/types";
import { someAsk } from "./example";
import { questionReader } from "./known";

/** A core that leaves out what is known. */
function core() {
  const state = { waiting: [] as PendingAsk[], asked: [] as AskId[][] };
  const bare = (pending: PendingAsk): PendingAsk =>
    pending.ask.ask === "call" ? { ...pending, ask: { ...pending.ask, arguments: null } } : pending;
  const read = questionReader((known) => {
    state.asked.push(known);
    return Promise.resolve(state.waiting.map((one) => (known.includes(one.id) ? bare(one) : one)));
  });
  return { state, read };
}

describe("arguments that were read once", () => {
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

  it("that are missing are an error and never an empty list", async () => {
    const one = someAsk("a", { arguments: null });
    await expect(questionReader(() => Promise.resolve([one]))()).rejects.toThrow("missing");
  });
});
