import { describe, expect, it } from "vitest";

import type { Grant, ToolView } from "../gen/types";
import { freeOf, reach, ruling } from "./rules";

const tool = (name: string, access: "read" | "write", part: Partial<ToolView> = {}): ToolView => ({
  exposedName: name,
  server: "s",
  generation: 2,
  serverName: "files",
  name,
  title: null,
  description: null,
  inputSchema: "{}",
  class: { class: access, reason: { by: "default" }, reachesOutside: false },
  fingerprint: `${name}-1`,
  flags: [],
  ...part,
});

const rule = (id: string, part: Partial<Grant> = {}): Grant => ({
  id,
  effect: "allow",
  server: { server: "s", generation: 2 },
  width: { width: "reads" },
  clients: { clients: "every" },
  lifetime: { lifetime: "always" },
  conditions: [],
  pins: { look: "look-1" },
  program: null,
  created: 0,
  reason: null,
  ...part,
});

const look = tool("look", "read");
const put = tool("put", "write");
const reads = rule("reads");
const own = rule("own", { width: { width: "tool", tool: "look" } });
const block = rule("block", { effect: "deny", width: { width: "tool", tool: "look" }, pins: {} });

describe("Ask · Reads · Writes · All", () => {
  it.each<[string, Grant[], string]>([
    ["nothing", [], "ask"],
    ["reads", [reads], "reads"],
    ["writes", [rule("w", { width: { width: "writes" } })], "writes"],
    ["both", [reads, rule("w", { width: { width: "writes" } })], "all"],
    ["everything", [rule("e", { width: { width: "everything" } })], "all"],
    ["one tool", [own], "ask"],
    ["for one client", [rule("c", { clients: { clients: "one", client: "c" } })], "ask"],
    ["for a while", [rule("q", { lifetime: { lifetime: "until_quit" } })], "ask"],
    ["a deny", [rule("d", { effect: "deny" })], "ask"],
    ["of an older generation", [rule("o", { server: { server: "s", generation: 1 } })], "ask"],
  ])("with a rule for %s", (_, rules, expected) => {
    expect(freeOf(rules, { generation: 2 })).toBe(expected);
  });
});

describe("what happens with a tool", () => {
  it.each<[string, Grant[], ToolView, object]>([
    ["no rule", [], look, { now: "ask", own: [], wide: undefined, changed: false }],
    ["a wide rule that took it in", [reads], look, { now: "allow", own: [], wide: reads }],
    ["a wide rule for the others", [reads], put, { now: "ask", wide: undefined, changed: false }],
    ["a wide rule that is older than it", [rule("old", { pins: {} })], look, { now: "ask", wide: undefined, changed: false }],
    ["a read that reaches outside", [reads], tool("look", "read", { class: { ...look.class, reachesOutside: true } }), { now: "ask" }],
    ["its own rule", [own], look, { now: "allow", own: [own], wide: undefined }],
    ["its own rule, and another definition", [own], tool("look", "read", { fingerprint: "2" }), { now: "ask", own: [own], changed: true }],
    ["a rule of an older generation", [own], tool("look", "read", { generation: 3 }), { now: "ask", own: [] }],
    ["a block over what is allowed", [reads, block, own], look, { now: "block", own: [block, own], wide: reads }],
    ["a block of an older generation", [{ ...block, server: { server: "s", generation: 1 } }], look, { now: "block" }],
    ["a wide deny", [rule("d", { effect: "deny", pins: {} }), own], look, { now: "block", wide: { id: "d" }, own: [own] }],
    ["a rule with conditions", [rule("w", { conditions: [{ pointer: "/a", test: { test: "equals", value: "1" } }] })], look, { now: "ask", wide: undefined }],
  ])("%s", (_, rules, about, expected) => {
    expect(ruling(rules, about)).toMatchObject(expected);
  });

  it("is counted, with those that came later", () => {
    const later = tool("list", "read");
    expect(reach([reads], [look, later, put], "reads")).toEqual({ free: 1, late: 1 });
    expect(reach([reads, block], [look, later, put], "reads")).toEqual({ free: 0, late: 1 });
    expect(reach([], [look, later, put], "ask")).toEqual({ free: 0, late: 0 });
  });
});
