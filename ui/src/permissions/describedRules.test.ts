import { describe, expect, it } from "vitest";

import type { Grant, Message, RuleView } from "../generated/types";
import { render, translator } from "../messages";
import { catalogues } from "../messages/catalogues";
import { filterRules, emptyFilter, describeRules, type RuleFilter, type Wording } from "./describedRules";

const time = (at: number) => `day ${String(at)}`;
const speaking: Wording = {
  t: translator({ language: "en", messages: catalogues.en }),
  render: (message) => render(message, { language: "en", templates: catalogues.en, time }),
  time,
};

const sentence = (what: string, who: string): Message => ({
  key: "rule.allow.always",
  params: { what: { text: what }, who: { text: who } },
});

const view = (id: string, part: Partial<Grant>, words: Message, lastUsed: number | null = null): RuleView => ({
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
  sentence: words,
  note: null,
  lastUsed,
  reach: null,
});

const all = describeRules(speaking, [
  view("old", {}, sentence("server s: write_file", "every client")),
  view(
    "new",
    { created: 9, clients: { clients: "one", client: "c" }, pins: { look: "1" }, width: { width: "reads" } },
    sentence("all reads of server s", "client-c"),
    7,
  ),
  view(
    "deny",
    { created: 5, effect: "deny", server: null, width: { width: "everything" }, reason: "Use staging" },
    { key: "rule.deny.always", params: { what: { text: "everything" }, who: { text: "every client" } } },
  ),
  view(
    "timed",
    {
      created: 3,
      server: { server: "z", generation: 1, identity: "i" },
      lifetime: { lifetime: "until", at: 100 },
      program: "/usr/bin/claude",
    },
    {
      key: "rule.allow.until",
      params: {
        what: { text: "write_file when path is inside /notes" },
        who: { text: "every client" },
        at: { time: 100 },
      },
    },
  ),
]);

describe("described rules", () => {
  const found = (filter: Partial<RuleFilter>) =>
    filterRules(all, { ...emptyFilter, ...filter }).map(({ view: { rule } }) => rule.id);

  it("are sorted newest first", () => {
    expect(found({})).toEqual(["new", "deny", "timed", "old"]);
  });

  it.each<[Partial<RuleFilter>, string[]]>([
    [{ text: "STAGING use" }, ["deny"]],
    [{ text: "look" }, ["new"]],
    [{ text: "inside /notes" }, ["timed"]],
    [{ text: "until day 100" }, ["timed"]],
    [{ text: "always deny" }, ["deny"]],
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
  ])("are filtered by %j", (filter, expected) => {
    expect(found(filter)).toEqual(expected);
  });
});

describe("the note on a rule's origin", () => {
  it.each<[Message | null, string | null]>([
    [null, null],
    [{ key: "rule.author.unprivileged", params: {} }, "added without the operator key"],
    [
      { key: "rule.author.confirmed", params: { at: { time: 4 } } },
      "confirmed on day 4 after it could not be verified",
    ],
  ])("%j: %s", (note, words) => {
    const one = describeRules(speaking, [{ ...view("x", {}, sentence("add_note", "every client")), note }]);
    expect(one[0]?.note).toBe(words);
    expect(filterRules(one, { ...emptyFilter, text: words ?? "add_note" })).toHaveLength(1);
  });
});
