import { describe, expect, it } from "vitest";

import type { AutoApproveView, Grant, PolicyView } from "../generated/types";
import { autoApproveOf, newToolsCovered, ruleOf, rulesOf } from "./serverRules";

const rule = (id: string, server: string | null) =>
  ({ id, server: server === null ? null : { server, generation: 1 } }) as unknown as Grant;
const view: AutoApproveView = {
  server: "s",
  client: null,
  setting: "reads",
  allowed: 3,
  waitsForFirstUse: false,
  late: { reads: 1, writes: 2, all: 4 },
};
const policy = {
  rules: ["s", "z", null].map((server) => ({ rule: rule(`of ${String(server)}`, server) })),
  autoApprove: [view, { ...view, client: "c", setting: "all" }],
} as unknown as PolicyView;

describe("policy of a server", () => {
  it("finds its rules and auto-approve setting", () => {
    expect(rulesOf(policy, "s").map(({ rule: { id } }) => id)).toEqual(["of s"]);
    expect(ruleOf(policy, "of null")?.rule.id).toBe("of null");
    expect(ruleOf(policy, null)).toBeUndefined();
    expect(autoApproveOf(policy, "s")).toBe(view);
    expect(autoApproveOf(policy, "s", "c").setting).toBe("all");
  });

  it("is empty without a policy", () => {
    expect(rulesOf(undefined, "s")).toEqual([]);
    expect(autoApproveOf(policy, "z").setting).toBe("ask");
    expect(autoApproveOf(undefined, "s", "c")).toMatchObject({ client: "c", setting: "ask", allowed: 0 });
  });

  it("counts the tools that a setting would add", () => {
    expect(newToolsCovered(view, "ask")).toBe(0);
    expect(newToolsCovered(view, "reads")).toBe(1);
    expect(newToolsCovered(view, "all")).toBe(4);
  });
});
