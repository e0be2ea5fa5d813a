import { describe, expect, it } from "vitest";

import type { Grant, ServerView, ToolView } from "../gen/types";
import { presetOf } from "./presets";

const server = (id: string, name: string) => ({ config: { id, name, generation: 1 } }) as ServerView;
const tool = (of: string, name: string, access: "read" | "write" = "read") =>
  ({ server: of, name, generation: 1, fingerprint: `${name}-1`, class: { class: access, reason: { by: "default" }, reachesOutside: false } }) as ToolView;

const rule = (of: string, width: "reads" | "writes" | "everything", client: string | null = "c", pins: string[] = []): Grant => ({
  id: `${of}-${width}`,
  effect: "allow",
  server: { server: of, generation: 1 },
  width: { width },
  clients: client === null ? { clients: "every" } : { clients: "one", client },
  lifetime: { lifetime: "always" },
  conditions: [],
  pins: Object.fromEntries(pins.map((name) => [name, `${name}-1`])),
  program: null,
  created: 0,
  reason: null,
});

const servers = [server("a", "files"), server("b", "notes")];

describe("a client's default", () => {
  it.each<[string, Grant[], string]>([
    ["no rule", [], "ask"],
    ["the same on every server", [rule("a", "reads"), rule("b", "reads")], "reads"],
    ["reads and writes", [rule("a", "reads"), rule("a", "writes"), rule("b", "everything")], "all"],
    ["one server alone", [rule("a", "reads")], "mixed"],
    ["another client's rules", [rule("a", "reads", "d"), rule("b", "reads", "d")], "ask"],
    ["rules for every client", [rule("a", "reads", null), rule("b", "reads", null)], "ask"],
    ["rules for a while", [rule("a", "reads"), { ...rule("b", "reads"), lifetime: { lifetime: "until_quit" } }], "mixed"],
  ])("with %s", (_, rules, expected) => {
    expect(presetOf(rules, servers, [], "c").value).toBe(expected);
  });

  it("says where it differs, and where rules for every client let more run", () => {
    const { parts, also } = presetOf([rule("a", "writes"), rule("a", "reads", null), rule("b", "reads", null)], servers, [], "c");
    expect(parts).toEqual([
      { preset: "ask", servers: ["notes"] },
      { preset: "writes", servers: ["files"] },
    ]);
    expect(also).toEqual(["files", "notes"]);
    expect(presetOf([rule("a", "everything"), rule("b", "everything"), rule("b", "reads", null)], servers, [], "c").also).toEqual([]);
  });

  it("counts the tools that came later, also those of a server that did", () => {
    const tools = [tool("a", "look"), tool("a", "list"), tool("a", "put", "write"), tool("b", "read")];
    const known = [rule("a", "reads", "c", ["look"]), rule("b", "reads", "c", ["read"])];
    expect(presetOf(known, servers, tools, "c").late).toEqual({ to: "reads", count: 1 });
    expect(presetOf(known.slice(0, 1), servers, tools, "c").late).toEqual({ to: "reads", count: 2 });
    expect(presetOf([rule("a", "reads"), rule("b", "everything")], servers, tools, "c").late).toEqual({ to: "ask", count: 0 });
  });

  it("is nothing where there is no server", () => {
    expect(presetOf([], [], [], "c")).toMatchObject({ value: "ask", parts: [] });
  });
});
