import { describe, expect, it } from "vitest";

import { testApproval } from "./testApprovals";
import { emptyQueue, answeredTogether, reduceQueue, pendingIn, type QueueEvent, type ApprovalQueue } from "./queue";

const [a, b, c] = [testApproval("a"), testApproval("b"), testApproval("c")];

/** The new request for the same call, as a read of a server whose labels are trusted. */
function again(id: string) {
  const trusted = { class: "read", reason: { by: "trusted_label" }, reachesOutside: false } as const;
  return testApproval(`${id}2`, { hash: `hash-${id}`, class: trusted });
}

function after(...happenings: QueueEvent[]): ApprovalQueue {
  return happenings.reduce(reduceQueue, emptyQueue);
}

/** What is seen: each place as its id with how it ended, the shown one in brackets. */
function seen({ slots, at }: ApprovalQueue): string {
  return slots
    .map(({ pending, end }, place) => {
      const text = end === null ? pending.id : `${pending.id}:${end}`;
      return place === at ? `[${text}]` : text;
    })
    .join(" ");
}

describe("the approval queue", () => {
  it.each<[string, string, QueueEvent[]]>([
    ["shows the first request", "[a] b", [{ is: "read", pending: [a, b] }]],
    [
      "appends new requests",
      "[a] c b",
      [
        { is: "read", pending: [a] },
        { is: "read", pending: [c, b, a] },
      ],
    ],
    [
      "keeps the shown request in place when it ends",
      "[a:ended] b",
      [
        { is: "read", pending: [a, b] },
        { is: "read", pending: [b] },
      ],
    ],
    [
      "shows the answer even if the end was read first",
      "[a:allowed] b",
      [
        { is: "read", pending: [a, b] },
        { is: "read", pending: [b] },
        { is: "answered", ids: ["a"], end: "allowed" },
      ],
    ],
    [
      "keeps an answered request in place",
      "[a:allowed] b",
      [
        { is: "read", pending: [a, b] },
        { is: "answered", ids: ["a"], end: "allowed" },
        { is: "read", pending: [b] },
      ],
    ],
    [
      "shows a request that the user opens, and drops resolved ones",
      "a [c]",
      [
        { is: "read", pending: [a, b, c] },
        { is: "moved", by: 1 },
        { is: "answered", ids: ["b"], end: "denied" },
        { is: "opened", id: "c" },
      ],
    ],
    [
      "stays where it is when a resolved or unknown request is opened",
      "[a] b:ended",
      [
        { is: "read", pending: [a, b] },
        { is: "read", pending: [a] },
        { is: "opened", id: "b" },
        { is: "opened", id: "nobody" },
      ],
    ],
    [
      "moves only on request",
      "[b] c",
      [
        { is: "read", pending: [a, b, c] },
        { is: "read", pending: [b, c] },
        { is: "moved", by: 1 },
      ],
    ],
    [
      "skips resolved requests",
      "a [c]",
      [
        { is: "read", pending: [a, b, c] },
        { is: "read", pending: [a, c] },
        { is: "moved", by: 1 },
      ],
    ],
    [
      "goes back",
      "[a] b",
      [
        { is: "read", pending: [a, b] },
        { is: "moved", by: 1 },
        { is: "moved", by: -1 },
      ],
    ],
    [
      "wraps around from a resolved request at the end",
      "[a]",
      [
        { is: "read", pending: [a, b] },
        { is: "moved", by: 1 },
        { is: "read", pending: [a] },
        { is: "moved", by: 1 },
      ],
    ],
    [
      "stays at a pending request at the end",
      "a [b]",
      [
        { is: "read", pending: [a, b] },
        { is: "moved", by: 1 },
        { is: "moved", by: 1 },
      ],
    ],
    [
      "drops resolved requests when the window is shown",
      "[b]",
      [{ is: "read", pending: [a] }, { is: "read", pending: [b] }, { is: "shown" }],
    ],
    [
      "appends new requests after a resolved one",
      "[a:ended] b",
      [
        { is: "read", pending: [a] },
        { is: "read", pending: [b] },
      ],
    ],
    [
      "puts a call that is judged again since its labels are trusted in its place",
      "[a2] b2",
      [
        { is: "read", pending: [a, b] },
        { is: "relabelled", server: "srv-1" },
        { is: "read", pending: [again("a"), again("b")] },
      ],
    ],
    [
      "also when its end is read first",
      "[a2] b2",
      [
        { is: "read", pending: [a, b] },
        { is: "relabelled", server: "srv-1" },
        { is: "read", pending: [] },
        { is: "read", pending: [again("b"), again("a")] },
      ],
    ],
    [
      "also when the window is guarded anew meanwhile",
      "[a2] b2",
      [
        { is: "read", pending: [a, b] },
        { is: "relabelled", server: "srv-1" },
        { is: "shown" },
        { is: "read", pending: [again("a"), again("b")] },
      ],
    ],
    [
      "but not once the user moved on",
      "a:ended [b:ended] a2 b2",
      [
        { is: "read", pending: [a, b] },
        { is: "relabelled", server: "srv-1" },
        { is: "moved", by: 1 },
        { is: "read", pending: [again("a"), again("b")] },
      ],
    ],
    [
      "and no other call",
      "[a:ended] c",
      [
        { is: "read", pending: [a] },
        { is: "relabelled", server: "srv-1" },
        { is: "read", pending: [c] },
      ],
    ],
    [
      "nor one of a server whose labels nobody touched",
      "[a:ended] a2",
      [
        { is: "read", pending: [a] },
        { is: "relabelled", server: "srv-2" },
        { is: "read", pending: [again("a")] },
      ],
    ],
  ])("%s", (_, expected, happenings) => {
    expect(seen(after(...happenings))).toBe(expected);
  });

  it("restarts the guard on every visible change and on no other", () => {
    const begun = after({ is: "read", pending: [a, b] });
    const change = (...happenings: QueueEvent[]) => happenings.reduce(reduceQueue, begun).change - begun.change;
    expect(change({ is: "read", pending: [a, b] })).toBe(0);
    expect(change({ is: "read", pending: [a, b, c] })).toBe(0);
    expect(change({ is: "read", pending: [a] })).toBe(0);
    expect(change({ is: "read", pending: [b] })).toBe(1);
    expect(change({ is: "read", pending: [testApproval("a", { title: "Other" }), b] })).toBe(1);
    expect(change({ is: "read", pending: [testApproval("a", {}, false), b] })).toBe(1);
    expect(change({ is: "relabelled", server: "srv-1" }, { is: "read", pending: [again("a"), b] })).toBe(1);
    expect(change({ is: "moved", by: 1 })).toBe(1);
    expect(change({ is: "opened", id: "b" })).toBe(1);
    expect(change({ is: "shown" })).toBe(1);
  });

  it("keeps unchanged slots identical", () => {
    const begun = after({ is: "read", pending: [a, b] });
    const again = reduceQueue(begun, { is: "read", pending: structuredClone([a, b]) });
    expect(again).toBe(begun);
    const more = reduceQueue(begun, { is: "read", pending: structuredClone([a, { ...b, waiting: false }, c]) });
    expect(more.slots[0]).toBe(begun.slots[0]);
    expect(more.slots[1]).not.toBe(begun.slots[1]);
    expect(more.slots[1]?.pending.request).toBe(begun.slots[1]?.pending.request);
    const late = reduceQueue(begun, { is: "read", pending: structuredClone([{ ...a, expiresAt: 1 }, b]) });
    expect([late.change, late.anyChange]).toEqual([begun.change, begun.anyChange]);
  });

  it("groups requests of one client, tool and class", () => {
    const other = { class: "read", reason: { by: "override" }, reachesOutside: false } as const;
    const tool = testApproval("tool", { subject: { kind: "tool", name: "delete" } });
    const client = testApproval("client", {
      client: { id: "cli-2", name: "Zed", says: null, seenFrom: null, session: null, byUser: false },
    });
    const classed = testApproval("class", { class: other });
    expect(answeredTogether([a, tool, b, client, classed], a).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(pendingIn(after({ is: "read", pending: [a, b] }, { is: "read", pending: [b] })).map(({ id }) => id)).toEqual(
      ["b"],
    );
  });
});
