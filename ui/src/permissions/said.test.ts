import { describe, expect, it } from "vitest";

import type { Grant, RuleView } from "../gen/types";
import { fill, type Translate } from "../messages";
import { catalogues } from "../messages/catalogues";
import { fitting, noFilter, said, type Filter } from "./said";

const t: Translate = (key, values = {}) => fill(catalogues.en[key], values);
const names = { server: (id: string) => `server ${id}`, client: (id: string) => `client-${id}`, time: (at: number) => `day ${String(at)}` };

const view = (id: string, part: Partial<Grant> = {}, lastUsed: number | null = null): RuleView => ({
  rule: {
    id,
    effect: "allow",
    server: { server: "s", generation: 1, identity: "i" },
    width: { width: "tool", tool: "write_file" },
    clients: { clients: "every" },
    lifetime: { lifetime: "always" },
    conditions: [],
    pins: {},
    program: null,
    created: 0,
    author: { author: "person" },
    reason: null,
    ...part,
  },
  sentence: `core says ${id}`,
  lastUsed,
  reach: null,
});

const all = said(
  t,
  [
    view("old"),
    view("new", { created: 9, clients: { clients: "one", client: "c" }, pins: { look: "1" }, width: { width: "reads" } }, 7),
    view("deny", { created: 5, effect: "deny", server: null, width: { width: "everything" }, reason: "Use staging" }),
    view("timed", { created: 3, server: { server: "z", generation: 1, identity: "i" }, lifetime: { lifetime: "until", at: 100 }, program: "/usr/bin/claude", conditions: [{ pointer: "/path", test: { test: "inside", folder: "/notes" } }] }),
  ],
  names,
);

describe("rules", () => {
  const found = (filter: Partial<Filter>) => fitting(all, { ...noFilter, ...filter }).map(({ view: { rule } }) => rule.id);

  it("stand with the newest first", () => {
    expect(found({})).toEqual(["new", "deny", "timed", "old"]);
  });

  it.each<[Partial<Filter>, string[]]>([
    [{ text: "STAGING use" }, ["deny"]],
    [{ text: "look" }, ["new"]],
    [{ text: "inside /notes" }, ["timed"]],
    [{ text: "/usr/bin/claude" }, ["timed"]],
    [{ text: "client-c" }, ["new"]],
    [{ text: "never used" }, ["deny", "timed", "old"]],
    [{ text: "day 7" }, ["new"]],
    [{ text: "nowhere" }, []],
    [{ kind: "deny" }, ["deny"]],
    [{ kind: "allow" }, ["new", "timed", "old"]],
    [{ kind: "timed" }, ["timed"]],
    // What is on every server, or for every client, is on and for this one too.
    [{ server: "z" }, ["deny", "timed"]],
    [{ client: "c" }, ["new", "deny", "timed", "old"]],
    [{ client: "d" }, ["deny", "timed", "old"]],
    [{ text: "server s", kind: "allow", server: "s" }, ["new", "old"]],
  ])("are found by %j", (filter, expected) => {
    expect(found(filter)).toEqual(expected);
  });
});

describe("who made a rule", () => {
  it.each<[Grant["author"], string | null]>([
    [{ author: "person" }, null],
    [{ author: "unprivileged" }, "added without the operator key"],
    [{ author: "confirmed", at: 4 }, "confirmed on day 4 after it could not be verified"],
  ])("%j: %s", (author, note) => {
    const one = said(t, [view("x", { author })], names);
    expect(one[0]?.note).toBe(note);
    expect(fitting(one, { ...noFilter, text: note ?? "core says x" })).toHaveLength(1);
  });
});

describe("what a rule says", () => {
  it.each<[Partial<Grant>, string]>([
    [{ width: { width: "tool", tool: "resource:file:///x" } }, "Always allow server s: the resource file:///x, for every client"],
    [{ width: { width: "tool", tool: "prompt:review" } }, "Always allow server s: the prompt review, for every client"],
    [{ effect: "deny", server: null, width: { width: "tool", tool: "rm" } }, "Always refuse rm on every server, for every client"],
    [{ effect: "deny", server: null, width: { width: "reads" } }, "Always refuse all reads on every server, for every client"],
    [{ effect: "deny", server: null, width: { width: "everything" } }, "Always refuse everything on every server, for every client"],
  ])("of %j", (part, expected) => {
    expect(said(t, [view("x", part)], names)[0]?.sentence).toBe(expected);
  });
});
