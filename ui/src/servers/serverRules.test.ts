import { describe, expect, it } from "vitest";

import type { AutoApproveView, Grant, PolicyView } from "../generated/types";
import { autoApproveOf, lateOf, ruleOf, rulesOf } from "./serverRules";

const rule = (id: string, server: string | null) =>
  ({ id, server: server === null ? null : { server, generation: 1 } }) as unknown as Grant;
const view: AutoApproveView = { server: "s", client: null, setting: "reads", allowed: 3, waitsForFirstUse: false, late: { reads: 1, writes: 2, all: 4 } };
const policy = {
  rules: ["s", "z", null].map((server) => ({ rule: rule(`of ${String(server)}`, server) })),
  autoApprove: [view, { ...view, client: "c", setting: "all" }],
} as unknown as PolicyView;

describe("what the core says of a server", () => {
  it("is found", () => {
    expect(rulesOf(policy, "s").map(({ rule: { id } }) => id)).toEqual(["of s"]);
    expect(ruleOf(policy, "of null")?.rule.id).toBe("of null");
    expect(ruleOf(policy, null)).toBeUndefined();
    expect(autoApproveOf(policy, "s")).toBe(view);
    expect(autoApproveOf(policy, "s", "c").setting).toBe("all");
  });

  it("is nothing where it says nothing", () => {
    expect(rulesOf(undefined, "s")).toEqual([]);
    expect(autoApproveOf(policy, "z").setting).toBe("ask");
    expect(autoApproveOf(undefined, "s", "c")).toMatchObject({ client: "c", setting: "ask", allowed: 0 });
  });

  it("says how many tools a setting would add", () => {
    expect(lateOf(view, "ask")).toBe(0);
    expect(lateOf(view, "reads")).toBe(1);
    expect(lateOf(view, "all")).toBe(4);
  });
});
