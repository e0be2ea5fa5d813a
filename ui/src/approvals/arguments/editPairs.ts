// Which arguments are the text before and after an edit, by the names that tools give them, so that they can be shown
// as a change. Only a view: what is not recognised is shown like everything else. Pure.

import { seen } from "../../components/invisibleChars";
import { unifiedDiffLines, type ChangeLine } from "../../components/diffLines";
import type { JsonMember, JsonNode } from "./jsonTree";

/** Two members of an object: the text before and after. */
export type EditPair = { before: JsonMember; after: JsonMember };

const PAIRS = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["old_str", "new_str"],
  ["oldStr", "newStr"],
  ["old_text", "new_text"],
  ["oldText", "newText"],
  ["old_content", "new_content"],
  ["oldContent", "newContent"],
  ["search", "replace"],
  ["find", "replace"],
  ["original", "replacement"],
  ["before", "after"],
  ["old", "new"],
] as const;

const PATCHES = ["patch", "diff", "unified_diff", "unifiedDiff"];

/** The first pair of texts before and after an edit among the members of an object. */
export function editPairOf(members: readonly JsonMember[]): EditPair | null {
  const textNamed = (wanted: string) => members.find(({ name, value }) => name === wanted && stringOf(value) !== null);
  for (const [old, now] of PAIRS) {
    const [before, after] = [textNamed(old), textNamed(now)];
    if (before && after) return { before, after };
  }
  return null;
}

/** The lines of an argument that is a unified diff; null for every other one. */
export function patchLinesOf({ name, value }: JsonMember): ChangeLine[] | null {
  const text = PATCHES.includes(name) ? stringOf(value) : null;
  return text === null ? null : unifiedDiffLines(text);
}

/** The text of a JSON string, with hidden characters as marks; null for every other value. */
export function stringOf(node: JsonNode): string | null {
  if (node.kind !== "scalar" || !node.text.startsWith('"')) return null;
  try {
    const value: unknown = JSON.parse(node.text);
    return typeof value === "string" ? seen(value) : null;
  } catch {
    return null;
  }
}

/** Whether the formatted view shows these members otherwise than as their texts. */
export function hasFormattedView(members: readonly JsonMember[]): boolean {
  const hasParts = ({ value }: JsonMember) =>
    value.kind === "object" ? value.members.length > 0 : value.kind === "array" && value.items.length > 0;
  return members.some((member) => hasParts(member) || patchLinesOf(member) !== null) || editPairOf(members) !== null;
}
