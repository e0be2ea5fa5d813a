import { describe, expect, it } from "vitest";

import type { ToolSelection } from "../generated/types";
import { isToolShown, newProfile, selectionOf, withLaterTools, withSelection, withTool } from "./profileDraft";

const present = ["read", "write"];

describe("a profile that is edited", () => {
  it("shows unnamed servers unless it is strict", () => {
    expect(selectionOf(newProfile, "files")).toEqual({ shows: "all" });
    const strict = { ...newProfile, otherServers: "hidden" as const };
    expect(selectionOf(strict, "files")).toEqual({ shows: "nothing" });
    const named = withSelection(withSelection(strict, "files", { shows: "all" }), "files", { shows: "nothing" });
    expect(named.servers).toEqual([{ server: "files", tools: { shows: "nothing" } }]);
  });

  it.each<[ToolSelection, boolean, ToolSelection]>([
    [{ shows: "all" }, false, { shows: "except", tools: ["read"] }],
    [{ shows: "all" }, true, { shows: "all" }],
    [{ shows: "except", tools: ["read"] }, true, { shows: "all" }],
    [{ shows: "except", tools: ["read", "write"] }, true, { shows: "except", tools: ["write"] }],
    [{ shows: "except", tools: ["write"] }, false, { shows: "except", tools: ["write", "read"] }],
    [{ shows: "only", tools: ["write"] }, true, { shows: "only", tools: ["write", "read"] }],
    [{ shows: "only", tools: ["read"] }, false, { shows: "only", tools: [] }],
    [{ shows: "nothing" }, true, { shows: "only", tools: ["read"] }],
    [{ shows: "nothing" }, false, { shows: "nothing" }],
  ])("%j with a tick of %s is %j", (before, shown, after) => {
    expect(withTool(before, "read", shown)).toEqual(after);
    expect(isToolShown(after, "read")).toBe(shown);
  });

  it.each<[ToolSelection, boolean, ToolSelection]>([
    [{ shows: "all" }, false, { shows: "only", tools: present }],
    [{ shows: "except", tools: ["read"] }, false, { shows: "only", tools: ["write"] }],
    [{ shows: "only", tools: ["write"] }, true, { shows: "except", tools: ["read"] }],
    [{ shows: "only", tools: present }, true, { shows: "all" }],
    [{ shows: "nothing" }, false, { shows: "nothing" }],
  ])("%j with later tools %s is %j", (before, shown, after) => {
    expect(withLaterTools(before, present, shown)).toEqual(after);
  });
});
