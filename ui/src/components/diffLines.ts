// Lines of a change, for display: from two texts, or from a unified diff. Every line of the texts is there, the
// unchanged ones too, so nothing can hide beside a change. Pure.

import type { DiffLine } from "../generated/types";

/** A part of a line; `changed` where only a part of the line did. */
type DiffPart = { text: string; changed: boolean };

/** A line of a change; `parts` where only some of its words changed. A `gap` is no line of either text. */
export type ChangeLine = DiffLine & { parts?: readonly DiffPart[] };

/** Above this number of comparisons, two texts are shown as removed and added in whole. */
const MOST_CELLS = 1_000_000;

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Words, blanks and marks of hidden characters, none of which is split. */
const WORDS = /⟦U\+[0-9A-F]{4,6}⟧|[\p{L}\p{N}_]+|\s+|./gu;

/** The lines of a change from one text to another. */
export function changeLines(before: string, after: string): ChangeLine[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const lines: ChangeLine[] = [];
  let [from, to] = [0, 0];
  for (const [at, place] of [...commonOf(old, now), [old.length, now.length] as const]) {
    const [removed, added] = [old.slice(from, at), now.slice(to, place)];
    const pairs = removed.slice(0, added.length).map((line, row) => changedWords(line, added[row] ?? ""));
    for (const [row, text] of removed.entries())
      lines.push({ kind: "removed", text, old: from + row + 1, new: null, ...partsOf(pairs[row]?.old) });
    for (const [row, text] of added.entries())
      lines.push({ kind: "added", text, old: null, new: to + row + 1, ...partsOf(pairs[row]?.now) });
    const text = old[at];
    if (text !== undefined) lines.push({ kind: "kept", text, old: at + 1, new: place + 1 });
    [from, to] = [at + 1, place + 1];
  }
  return lines;
}

const partsOf = (parts: DiffPart[] | undefined) => (parts ? { parts } : {});

/** The lines of a unified diff; null for any other text. What is outside of its hunks are gaps with their text. */
export function unifiedDiffLines(text: string): ChangeLine[] | null {
  const all = text.split("\n");
  if (!all.some((line) => HUNK.test(line))) return null;
  // The next line of either side, and how many the hunk still has: outside of hunks, "---" begins the name of a file.
  let [old, now, oldLeft, nowLeft] = [0, 0, 0, 0];
  return all.map((line): ChangeLine => {
    const kind = oldLeft + nowLeft > 0 ? kindInHunk(line) : "gap";
    if (kind === "gap") {
      const hunk = HUNK.exec(line);
      if (hunk) {
        const [, oldStart, oldCount = 1, nowStart, nowCount = 1] = hunk;
        [old, now, oldLeft, nowLeft] = [Number(oldStart), Number(nowStart), Number(oldCount), Number(nowCount)];
      }
      return { kind, text: line, old: null, new: null };
    }
    const numbers = { old: kind === "added" ? null : old, new: kind === "removed" ? null : now };
    if (kind !== "added") [old, oldLeft] = [old + 1, Math.max(0, oldLeft - 1)];
    if (kind !== "removed") [now, nowLeft] = [now + 1, Math.max(0, nowLeft - 1)];
    return { kind, text: line.slice(1), ...numbers };
  });
}

function kindInHunk(line: string): DiffLine["kind"] {
  if (line.startsWith("-")) return "removed";
  if (line.startsWith("+")) return "added";
  return line.startsWith(" ") ? "kept" : "gap";
}

/** Both lines with the words that differ marked; null where they have no word in common. */
function changedWords(old: string, now: string): { old: DiffPart[]; now: DiffPart[] } | null {
  const [before, after] = [old.match(WORDS) ?? [], now.match(WORDS) ?? []];
  const common = commonOf(before, after);
  if (!common.some(([at]) => before[at]?.trim())) return null;
  return {
    old: markedParts(before, new Set(common.map(([at]) => at))),
    now: markedParts(after, new Set(common.map(([, at]) => at))),
  };
}

function markedParts(words: readonly string[], same: ReadonlySet<number>): DiffPart[] {
  const parts: DiffPart[] = [];
  for (const [at, text] of words.entries()) {
    const changed = !same.has(at);
    const last = parts.at(-1);
    if (last?.changed === changed) last.text += text;
    else parts.push({ text, changed });
  }
  return parts;
}

/** Where two lists agree, as pairs of places: their longest common subsequence. */
function commonOf(one: readonly string[], other: readonly string[]): (readonly [number, number])[] {
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let tail = 0;
  const most = Math.min(one.length, other.length) - start;
  while (tail < most && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail += 1;
  const [rows, columns] = [one.length - start - tail, other.length - start - tail];
  const pairs: (readonly [number, number])[] = Array.from({ length: start }, (_, at) => [at, at] as const);
  if (rows * columns > 0 && rows * columns <= MOST_CELLS) {
    const width = columns + 1;
    const best = new Uint32Array((rows + 1) * width);
    const length = (row: number, column: number) => best[row * width + column] ?? 0;
    const agree = (row: number, column: number) => one[start + row] === other[start + column];
    for (let row = rows - 1; row >= 0; row -= 1) {
      for (let column = columns - 1; column >= 0; column -= 1) {
        best[row * width + column] = agree(row, column)
          ? length(row + 1, column + 1) + 1
          : Math.max(length(row + 1, column), length(row, column + 1));
      }
    }
    let [row, column] = [0, 0];
    while (row < rows && column < columns) {
      if (agree(row, column)) pairs.push([start + row++, start + column++]);
      else if (length(row + 1, column) >= length(row, column + 1)) row += 1;
      else column += 1;
    }
  }
  for (let at = tail; at > 0; at -= 1) pairs.push([one.length - at, other.length - at]);
  return pairs;
}
