import { describe, expect, it } from "vitest";

import { editPairOf, hasFormattedView, patchLinesOf, stringOf } from "./editPairs";
import { parseTree, type JsonMember } from "./jsonTree";

function members(value: Record<string, unknown>): readonly JsonMember[] {
  const tree = parseTree(JSON.stringify(value));
  if (tree?.kind !== "object") throw new Error("no object");
  return tree.members;
}

describe("texts before and after an edit", () => {
  it.each<[Record<string, unknown>, [string, string] | null]>([
    [{ path: "/a", old_string: "x", new_string: "y" }, ["old_string", "new_string"]],
    [{ newText: "y", oldText: "x" }, ["oldText", "newText"]],
    [{ old_str: "x", new_str: "" }, ["old_str", "new_str"]],
    [{ search: "x", replace: "y", all: true }, ["search", "replace"]],
    [{ find: "x", replace: "y" }, ["find", "replace"]],
    [{ original: "x", replacement: "y" }, ["original", "replacement"]],
    [{ old_string: "x" }, null],
    [{ old_string: "x", new_string: 7 }, null],
    [{ old_string: "x", newText: "y" }, null],
    [{ old_string: { text: "x" }, new_string: "y" }, null],
    [{ OLD_STRING: "x", NEW_STRING: "y" }, null],
    [{}, null],
  ])("of %j are %j", (value, expected) => {
    const pair = editPairOf(members(value));
    expect(pair && [pair.before.name, pair.after.name]).toEqual(expected);
  });

  it("keep their hidden characters as marks", () => {
    const [text] = members({ old: "a\u202eb\r\nc\td" });
    expect(text && stringOf(text.value)).toBe("a⟦U+202E⟧b⟦U+000D⟧\nc\td");
  });
});

describe("arguments with a view of their own", () => {
  const patch = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y";

  it.each<[Record<string, unknown>, boolean]>([
    [{ path: "/a", count: 7 }, false],
    [{ empty: {}, none: [] }, false],
    [{ edits: [{ oldText: "x", newText: "y" }] }, true],
    [{ options: { deep: true } }, true],
    [{ old_string: "x", new_string: "y" }, true],
    [{ patch }, true],
    [{ text: patch }, false],
    [{ patch: "no diff" }, false],
    [{ json: '{"a":[1]}' }, false],
  ])("%j: %s", (value, expected) => {
    expect(hasFormattedView(members(value))).toBe(expected);
  });

  it("are unified diffs by name and by form", () => {
    expect(members({ patch, text: patch, diff: 7 }).map((member) => patchLinesOf(member)?.length ?? null)).toEqual([
      5,
      null,
      null,
    ]);
  });
});
