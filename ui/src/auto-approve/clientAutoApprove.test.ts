import { describe, expect, it } from "vitest";

import type { AutoApprove, AutoApproveView, PolicyView, ServerView } from "../generated/types";
import { clientAutoApprove } from "./clientAutoApprove";

const server = (id: string, name: string) => ({ config: { id, name, generation: 1 } }) as ServerView;
const set = (
  on: string,
  setting: AutoApprove,
  client: string | null = "c",
  late: Partial<AutoApproveView["late"]> = {},
): AutoApproveView => ({
  server: on,
  client,
  setting,
  allowed: 0,
  waitsForFirstUse: false,
  late: { reads: 0, writes: 0, all: 0, ...late },
});
const policy = (autoApprove: AutoApproveView[]) => ({ rules: [], autoApprove }) as unknown as PolicyView;

const servers = [server("a", "files"), server("b", "notes")];

describe("the auto-approve setting of a client", () => {
  it.each<[string, AutoApproveView[], string]>([
    ["nothing set", [], "ask"],
    ["the same on every server", [set("a", "reads"), set("b", "reads")], "reads"],
    ["one server alone", [set("a", "reads"), set("b", "ask")], "mixed"],
    ["another client's settings", [set("a", "reads", "d"), set("b", "reads", "d")], "ask"],
    ["settings for every client", [set("a", "reads", null), set("b", "reads", null)], "ask"],
  ])("with %s", (_, views, expected) => {
    expect(clientAutoApprove(policy(views), servers, "c").value).toBe(expected);
  });

  it("lists servers that differ or that allow every client more", () => {
    const { parts, also } = clientAutoApprove(
      policy([set("a", "writes"), set("a", "reads", null), set("b", "reads", null)]),
      servers,
      "c",
    );
    expect(parts).toEqual([
      { preset: "ask", servers: ["notes"] },
      { preset: "writes", servers: ["files"] },
    ]);
    expect(also).toEqual(["files", "notes"]);
    expect(
      clientAutoApprove(policy([set("a", "all"), set("b", "all"), set("b", "reads", null)]), servers, "c").also,
    ).toEqual([]);
  });

  it("counts newer tools, also of newer servers", () => {
    const late = { reads: 1, writes: 5, all: 6 };
    expect(
      clientAutoApprove(policy([set("a", "reads", "c", late), set("b", "ask", "c", late)]), servers, "c").late,
    ).toEqual({ to: "reads", count: 2 });
    expect(
      clientAutoApprove(policy([set("a", "reads", "c", late), set("b", "all", "c", late)]), servers, "c").late,
    ).toEqual({ to: "ask", count: 0 });
  });

  it("lists servers where it waits for its first use", () => {
    const waits = { ...set("b", "reads"), waitsForFirstUse: true };
    expect(clientAutoApprove(policy([set("a", "reads"), waits]), servers, "c").waiting).toEqual(["notes"]);
  });

  it("is empty without servers", () => {
    expect(clientAutoApprove(undefined, [], "c")).toMatchObject({ value: "ask", parts: [] });
  });
});
