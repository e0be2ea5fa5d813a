import { describe, expect, it } from "vitest";

import { someAsk } from "./testApprovals";
import { emptyQueue, groupOf, next, waiting, type Happening, type Queue } from "./queue";

const [a, b, c] = [someAsk("a"), someAsk("b"), someAsk("c")];

function after(...happenings: Happening[]): Queue {
  return happenings.reduce(next, emptyQueue);
}

/** What is seen: each place as its id with how it ended, the shown one in brackets. */
function seen({ slots, at }: Queue): string {
  return slots
    .map(({ pending, end }, place) => {
      const text = end === null ? pending.id : `${pending.id}:${end}`;
      return place === at ? `[${text}]` : text;
    })
    .join(" ");
}

describe("the queue", () => {
  it.each<[string, string, Happening[]]>([
    ["shows the first one", "[a] b", [{ is: "read", pending: [a, b] }]],
    ["puts new ones behind", "[a] c b", [{ is: "read", pending: [a] }, { is: "read", pending: [c, b, a] }]],
    ["leaves a tombstone where the shown one ended", "[a:ended] b", [{ is: "read", pending: [a, b] }, { is: "read", pending: [b] }]],
    ["says what the user answered, also where its end was read first", "[a:allowed] b", [{ is: "read", pending: [a, b] }, { is: "read", pending: [b] }, { is: "answered", ids: ["a"], end: "allowed" }]],
    ["leaves a tombstone where the user answered", "[a:allowed] b", [{ is: "read", pending: [a, b] }, { is: "answered", ids: ["a"], end: "allowed" }, { is: "read", pending: [b] }]],
    ["moves only when told to", "[b] c", [{ is: "read", pending: [a, b, c] }, { is: "read", pending: [b, c] }, { is: "moved", by: 1 }]],
    ["jumps over tombstones", "a [c]", [{ is: "read", pending: [a, b, c] }, { is: "read", pending: [a, c] }, { is: "moved", by: 1 }]],
    ["goes back", "[a] b", [{ is: "read", pending: [a, b] }, { is: "moved", by: 1 }, { is: "moved", by: -1 }]],
    ["goes round from a tombstone at the end", "[a]", [{ is: "read", pending: [a, b] }, { is: "moved", by: 1 }, { is: "read", pending: [a] }, { is: "moved", by: 1 }]],
    ["keeps a live one at the end in its place", "a [b]", [{ is: "read", pending: [a, b] }, { is: "moved", by: 1 }, { is: "moved", by: 1 }]],
    ["brings no tombstone up with the window", "[b]", [{ is: "read", pending: [a] }, { is: "read", pending: [b] }, { is: "shown" }]],
    ["puts what comes behind a tombstone behind it", "[a:ended] b", [{ is: "read", pending: [a] }, { is: "read", pending: [b] }]],
  ])("%s", (_, expected, happenings) => {
    expect(seen(after(...happenings))).toBe(expected);
  });

  it("wakes slowly after every change of what is shown, and after no other", () => {
    const begun = after({ is: "read", pending: [a, b] });
    const change = (...happenings: Happening[]) => happenings.reduce(next, begun).change - begun.change;
    expect(change({ is: "read", pending: [a, b] })).toBe(0);
    expect(change({ is: "read", pending: [a, b, c] })).toBe(0);
    expect(change({ is: "read", pending: [a] })).toBe(0);
    expect(change({ is: "read", pending: [b] })).toBe(1);
    expect(change({ is: "read", pending: [someAsk("a", { title: "Other" }), b] })).toBe(1);
    expect(change({ is: "read", pending: [someAsk("a", {}, false), b] })).toBe(1);
    expect(change({ is: "moved", by: 1 })).toBe(1);
    expect(change({ is: "shown" })).toBe(1);
  });

  it("keeps what did not change as the same object, whatever was read", () => {
    const begun = after({ is: "read", pending: [a, b] });
    const again = next(begun, { is: "read", pending: structuredClone([a, b]) });
    expect(again).toBe(begun);
    const more = next(begun, { is: "read", pending: structuredClone([a, { ...b, waiting: false }, c]) });
    expect(more.slots[0]).toBe(begun.slots[0]);
    expect(more.slots[1]).not.toBe(begun.slots[1]);
    expect(more.slots[1]?.pending.ask).toBe(begun.slots[1]?.pending.ask);
    const late = next(begun, { is: "read", pending: structuredClone([{ ...a, expiresAt: 1 }, b]) });
    expect([late.change, late.anyChange]).toEqual([begun.change, begun.anyChange]);
  });

  it("answers together only what is of one client, tool and class", () => {
    const other = { class: "read", reason: { by: "override" }, reachesOutside: false } as const;
    const tool = someAsk("tool", { subject: { kind: "tool", name: "delete" } });
    const client = someAsk("client", { client: { id: "cli-2", name: "Zed", says: null, seenFrom: null, session: null } });
    const classed = someAsk("class", { class: other });
    expect(groupOf([a, tool, b, client, classed], a).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(waiting(after({ is: "read", pending: [a, b] }, { is: "read", pending: [b] })).map(({ id }) => id)).toEqual(["b"]);
  });
});
