import { describe, expect, it } from "vitest";

import type { ApprovalId, PendingApproval } from "../generated/types";
import { testApproval } from "../approvals/testApprovals";
import { createPendingApprovalReader } from "./pendingApprovals";

function bare(pending: PendingApproval, isAbridged: boolean): PendingApproval {
  return pending.request.kind === "call"
    ? {
        ...pending,
        request: { ...pending.request, arguments: null, choices: [], denials: [], conditions: [], isAbridged },
      }
    : pending;
}

/** A core that leaves out what is known, and what one reply has no room for. */
function core(room = Infinity) {
  const state = { waiting: [] as PendingApproval[], asked: [] as ApprovalId[][] };
  const read = createPendingApprovalReader((known) => {
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

describe("details of pending approvals", () => {
  it("are read once and filled in afterwards", async () => {
    const { state, read } = core();
    state.waiting = [testApproval("a"), testApproval("b", { arguments: [] })];
    const first = await read();
    expect(first).toEqual(state.waiting);
    state.waiting = [...state.waiting, testApproval("c")];
    expect(await read()).toEqual(state.waiting);
    expect(state.asked).toEqual([[], ["a", "b"]]);
  });

  it("are dropped with their approval request", async () => {
    const { state, read } = core();
    state.waiting = [testApproval("a")];
    await read();
    state.waiting = [];
    await read();
    await read();
    expect(state.asked).toEqual([[], ["a"], []]);
  });

  it("are complete when two reads overlap", async () => {
    const { state, read } = core();
    state.waiting = [testApproval("a")];
    await read();
    const both = [read(), read()];
    expect(await Promise.all(both)).toEqual([state.waiting, state.waiting]);
  });

  it("are read in several replies if one is too small", async () => {
    const { state, read } = core(1);
    state.waiting = [testApproval("a"), testApproval("b"), testApproval("c")];
    expect(await read()).toEqual(state.waiting);
    expect(state.asked).toEqual([[], ["a"], ["a", "b"]]);
  });

  it("return complete requests when large ones keep coming", async () => {
    let next = 0;
    const small = testApproval("small");
    const read = createPendingApprovalReader((known) => {
      next += 1;
      const whole = known.includes("small") ? bare(small, false) : small;
      return Promise.resolve([
        whole,
        testApproval(`large-${String(next)}`),
        bare(testApproval(`large-${String(next + 1)}`), true),
      ]);
    });
    expect((await read()).map(({ id }) => id)).toEqual(["small", "large-16"]);
  });

  it("throw an error if they are missing", async () => {
    for (const isAbridged of [false, true]) {
      const one = bare(testApproval("a"), isAbridged);
      await expect(createPendingApprovalReader(() => Promise.resolve([one]))()).rejects.toThrow("missing");
    }
  });
});
