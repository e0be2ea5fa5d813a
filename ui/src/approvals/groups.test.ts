import { describe, expect, it } from "vitest";

import type { PendingApproval } from "../generated/types";
import { someAsk } from "./testApprovals";
import { answersTo, groupsOf, setsOf } from "./groups";
import type { Slot } from "./queue";

const zed = { id: "cli-2", name: "Zed", says: null, seenFrom: null, session: null };
const slot = (pending: PendingApproval, end: Slot["end"] = null): Slot => ({ pending, end });
const config: PendingApproval = { ...someAsk("file"), ask: { ask: "config_change", file: "servers.json", server: "x", changes: [], kind: "added" } };

describe("questions by whose they are", () => {
  it("stand by client and server, in the order in which they came", () => {
    const [a, b, c] = [someAsk("a"), someAsk("b", { client: zed }), someAsk("c")];
    const groups = groupsOf([slot(a), slot(b), slot(c, "ended"), slot(config)]);
    expect(groups.map(({ client, server, slots }) => [client, server, slots.map(({ pending }) => pending.id).join()])).toEqual([
      ["Claude Code", "files", "a,c"],
      ["Zed", "files", "b"],
      [null, null, "file"],
    ]);
  });

  it("are answered together only where they are of one tool and class, and wait", () => {
    const other = someAsk("tool", { subject: { kind: "tool", name: "delete" } });
    const [group] = groupsOf([slot(someAsk("a")), slot(other), slot(someAsk("b")), slot(someAsk("over"), "ended")]);
    const sets = group ? setsOf(group) : [];
    expect(sets.map((set) => set.map(({ id }) => id))).toEqual([["a", "b"], ["tool"]]);
    expect(answersTo(sets[0] ?? [], "allow")).toEqual(
      ["a", "b"].map((id) => ({
        id,
        hash: `hash-${id}`,
        answer: { answer: "allow", choice: { lifetime: "once", width: "call", everyClient: false, conditions: [] } },
      })),
    );
    expect(answersTo(sets[1] ?? [], "deny")[0]?.answer).toMatchObject({ answer: "deny", reason: null });
  });
});
