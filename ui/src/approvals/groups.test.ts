import { describe, expect, it } from "vitest";

import type { PendingApproval } from "../generated/types";
import { testApproval } from "./testApprovals";
import { answersForBatch, groupApprovals, batchesOf } from "./groups";
import type { QueueSlot } from "./queue";

const zed = { id: "cli-2", name: "Zed", says: null, seenFrom: null, session: null, byUser: false };
const slot = (pending: PendingApproval, end: QueueSlot["end"] = null): QueueSlot => ({ pending, end });
const config: PendingApproval = {
  ...testApproval("file"),
  request: { kind: "config_change", file: "servers.json", server: "x", changes: [], action: "added", profile: null },
};

describe("approval groups", () => {
  it("are keyed by client and server in order of arrival", () => {
    const [a, b, c] = [testApproval("a"), testApproval("b", { client: zed }), testApproval("c")];
    const groups = groupApprovals([slot(a), slot(b), slot(c, "ended"), slot(config)]);
    expect(
      groups.map(({ client, server, slots }) => [client, server, slots.map(({ pending }) => pending.id).join()]),
    ).toEqual([
      ["Claude Code", "files", "a,c"],
      ["Zed", "files", "b"],
      [null, null, "file"],
    ]);
  });

  it("batch only pending calls of one tool and class", () => {
    const other = testApproval("tool", { subject: { kind: "tool", name: "delete" } });
    const [group] = groupApprovals([
      slot(testApproval("a")),
      slot(other),
      slot(testApproval("b")),
      slot(testApproval("over"), "ended"),
    ]);
    const sets = group ? batchesOf(group) : [];
    expect(sets.map((set) => set.map(({ id }) => id))).toEqual([["a", "b"], ["tool"]]);
    expect(answersForBatch(sets[0] ?? [], "allow")).toEqual(
      ["a", "b"].map((id) => ({
        id,
        hash: `hash-${id}`,
        answer: { answer: "allow", choice: { lifetime: "once", width: "call", everyClient: false, conditions: [] } },
      })),
    );
    expect(answersForBatch(sets[1] ?? [], "deny")[0]?.answer).toMatchObject({ answer: "deny", reason: null });
  });
});
