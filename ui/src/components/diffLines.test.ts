import { describe, expect, it } from "vitest";

import { changeLines, unifiedDiffLines, type ChangeLine } from "./diffLines";

const signs = { kept: " ", removed: "-", added: "+", gap: "#" } as const;

/** The lines with their signs; changed words in brackets. */
const drawn = (lines: readonly ChangeLine[] | null) =>
  lines?.map(
    ({ kind, text, parts }) =>
      signs[kind] + (parts?.map((part) => (part.changed ? `[${part.text}]` : part.text)).join("") ?? text),
  );

const plain = (lines: readonly ChangeLine[], kinds: readonly ChangeLine["kind"][]) =>
  lines
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ text }) => text)
    .join("\n");

describe("the lines of a change", () => {
  it.each<[string, string, string, string[]]>([
    ["nothing changed", "a\nb", "a\nb", [" a", " b"]],
    ["a word", "let x = 1;\nend", "let x = 2;\nend", ["-let x = [1];", "+let x = [2];", " end"]],
    ["a line is added", "a\nc", "a\nb\nc", [" a", "+b", " c"]],
    ["a line is removed", "a\nb\nc", "a\nc", [" a", "-b", " c"]],
    ["nothing in common", "one", "two", ["-one", "+two"]],
    ["from nothing", "", "a\nb", ["-", "+a", "+b"]],
    ["the last line break", "a\n", "a", [" a", "-"]],
    ["more lines than before", "a 1\nz", "a 2\nb\nz", ["-a [1]", "+a [2]", "+b", " z"]],
    ["a mark is one word", "say ⟦U+202E⟧x", "say x", ["-say [⟦U+202E⟧]x", "+say x"]],
    ["lines that move", "a\nb\nc\nd", "c\nd\na\nb", ["-a", "-b", " c", " d", "+a", "+b"]],
  ])("%s", (_, before, after, expected) => {
    const lines = changeLines(before, after);
    expect(drawn(lines)).toEqual(expected);
    expect(plain(lines, ["kept", "removed"])).toBe(before);
    expect(plain(lines, ["kept", "added"])).toBe(after);
  });

  it("loses nothing of texts that are too large to compare", () => {
    const side = (name: string) => Array.from({ length: 2000 }, (_, at) => `${name} ${String(at)}`).join("\n");
    const [before, after] = [`same\n${side("old")}\nend`, `same\n${side("new")}\nend`];
    const lines = changeLines(before, after);
    expect(plain(lines, ["kept", "removed"])).toBe(before);
    expect(plain(lines, ["kept", "added"])).toBe(after);
    expect(lines.filter(({ kind }) => kind === "kept")).toHaveLength(2);
  });
});

describe("the lines of a unified diff", () => {
  it("are coloured inside of hunks only", () => {
    const text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn\n one\n--- two\n+++ two\n three\n\\ No newline\n-- end";
    expect(drawn(unifiedDiffLines(text))).toEqual([
      "#--- a/x",
      "#+++ b/x",
      "#@@ -1,3 +1,3 @@ fn",
      " one",
      "--- two",
      "+++ two",
      " three",
      "#\\ No newline",
      "#-- end",
    ]);
  });

  it("are counted from where the hunk begins", () => {
    const lines = unifiedDiffLines("@@ -7,2 +9 @@\n-a\n b");
    expect(lines?.map((line) => [line.old, line.new])).toEqual([
      [null, null],
      [7, null],
      [8, 9],
    ]);
  });

  it("are those of no other text", () => {
    expect(unifiedDiffLines("- buy milk\n+ eggs")).toBeNull();
  });
});
