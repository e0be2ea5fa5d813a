import { describe, expect, it } from "vitest";

import type { Condition, ConditionTest, OfferedCondition, ShownArgument } from "../../generated/types";
import {
  conditionArguments,
  conditionFromDraft,
  initialDraft,
  draftFromCondition,
  conditionKindsFor,
  bestProposals,
  initialText,
  type ConditionKind,
} from "./conditionDraft";

const shown = (name: string, value: unknown, masked = false): ShownArgument => ({
  name,
  text: JSON.stringify(value),
  masked,
  extra: false,
});

describe("condition arguments", () => {
  it("exclude secrets and values with hidden characters", () => {
    const all = [
      shown("a", "text"),
      shown("n", 3),
      shown("yes", true),
      shown("none", null),
      shown("deep", {}),
      shown("key", "s", true),
    ];
    expect(
      conditionArguments([...all, shown("x⟦U+200B⟧", 1), shown("long", "x".repeat(9000))]).map(({ name }) => name),
    ).toEqual(["a", "n", "yes"]);
    expect(conditionArguments(null)).toEqual([]);
  });
});

describe("condition kinds", () => {
  it.each<[unknown, ConditionKind[]]>([
    ["/home/ana/todo.md", ["inside", "equals", "one_of", "starts_with", "glob"]],
    ["https://example.org:8443/a", ["host_is", "equals", "one_of", "starts_with", "glob"]],
    ["plain", ["equals", "one_of", "starts_with", "glob"]],
    [3, ["equals", "one_of"]],
    [true, ["equals", "one_of"]],
  ])("for %j are %j", (value, kinds) => {
    expect(conditionKindsFor(value)).toEqual(kinds);
  });

  it.each<[ConditionKind, unknown, string]>([
    ["equals", "a b", "a b"],
    ["equals", 3, "3"],
    ["starts_with", "/home/ana/todo.md", "/home/ana/"],
    ["starts_with", "plain", "plain"],
    ["inside", "/home/ana/todo.md", "/home/ana"],
    ["inside", "/todo.md", "/"],
    ["host_is", "https://Example.org:8443/a", "example.org:8443"],
    ["glob", "/home/ana/todo.md", "/home/ana/*.md"],
    ["glob", "/home/ana/.profile", "/home/ana/*"],
  ])("%s of %j is prefilled with %s", (kind, value, text) => {
    expect(initialText(kind, value)).toBe(text);
  });
});

describe("a condition draft", () => {
  const arguments_ = [
    { name: "a/b~c", value: "text" },
    { name: "n", value: 3 },
  ];
  const test = (kind: ConditionKind, text: string, argument = "a/b~c") =>
    conditionFromDraft({ argument, kind, text }, arguments_)?.test ?? null;

  it.each<[ConditionKind, string, string, ConditionTest | null]>([
    ["equals", "yes", "a/b~c", { test: "equals", value: '"yes"' }],
    ["equals", "", "a/b~c", { test: "equals", value: '""' }],
    ["equals", "3.50", "n", { test: "equals", value: "3.5" }],
    ["equals", "three", "n", null],
    ["one_of", "a\n\nb\na", "a/b~c", { test: "one_of", values: ['"a"', '"b"'] }],
    ["one_of", "1\nx", "n", null],
    ["one_of", "\n", "n", null],
    ["starts_with", "", "a/b~c", null],
    ["starts_with", " x", "a/b~c", { test: "starts_with", text: " x" }],
    ["inside", "/home/ana/", "a/b~c", { test: "inside", folder: "/home/ana" }],
    ["inside", " ", "a/b~c", null],
    ["host_is", "example.org", "a/b~c", { test: "host_is", host: "example.org", port: null }],
    ["host_is", "example.org:8443", "a/b~c", { test: "host_is", host: "example.org", port: 8443 }],
    ["host_is", "[::1]:8443", "a/b~c", { test: "host_is", host: "[::1]", port: 8443 }],
    ["host_is", "[::1]", "a/b~c", { test: "host_is", host: "[::1]", port: null }],
    ["host_is", "example.org:99999", "a/b~c", null],
    ["glob", "*.md", "a/b~c", { test: "glob", pattern: "*.md" }],
    ["equals", "x", "gone", null],
  ])("%s %j for %s: %j", (kind, text, argument, expected) => {
    expect(test(kind, text, argument)).toEqual(expected);
  });

  it("round-trips", () => {
    for (const [kind, text] of [
      ["equals", "yes"],
      ["one_of", "a\nb"],
      ["starts_with", "te"],
      ["glob", "t*"],
    ] as const) {
      const condition = conditionFromDraft({ argument: "a/b~c", kind, text }, arguments_);
      expect(condition?.pointer).toBe("/a~1b~0c");
      expect(condition && draftFromCondition(condition, arguments_)).toEqual({ argument: "a/b~c", kind, text });
    }
    expect(draftFromCondition({ pointer: "/gone", test: { test: "equals", value: "1" } }, arguments_)).toBeNull();
  });
});

describe("proposed conditions", () => {
  const offer = (condition: Condition): OfferedCondition => ({
    condition,
    sentence: { key: `condition.${condition.test.test}`, params: {} },
  });
  const inside = offer({ pointer: "/path", test: { test: "inside", folder: "/real/home" } });
  const starts = offer({ pointer: "/path", test: { test: "starts_with", text: "/home/ana/" } });
  const exactly = offer({ pointer: "/n", test: { test: "equals", value: "3" } });
  const path = { name: "path", value: "/home/ana/todo.md" };

  it("are listed once per argument", () => {
    expect(bestProposals([inside, starts, exactly])).toEqual([inside, exactly]);
  });

  it("prefill the draft", () => {
    expect(initialDraft(path, "inside", [inside, starts])).toEqual({
      argument: "path",
      kind: "inside",
      text: "/real/home",
    });
    expect(initialDraft(path, null, [])).toEqual({ argument: "path", kind: "inside", text: "/home/ana" });
    expect(initialDraft({ name: "n", value: 3 }, "glob", [exactly])).toEqual({
      argument: "n",
      kind: "equals",
      text: "3",
    });
  });
});
