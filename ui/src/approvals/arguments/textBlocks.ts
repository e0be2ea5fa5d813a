// Huge arguments as blocks, of which only those in sight are drawn. A text is cut into blocks from its start to its
// end, a bounded piece of work at a time; nothing is left out, and nothing is cut where it would read otherwise.

import { seen } from "../../ask/fields";

/** What is cut: the JSON text of each argument. */
export type Source = { name: string; text: string };

/** An argument's name (`end` is 0), or a part of its text. */
export type Block = { argument: number; isName: boolean; start: number; end: number };

/** Characters of JSON text in a block at most. */
export const BLOCK = 2000;
/** Characters that are looked at in one piece of work. */
const PIECE = 200_000;
/** With more line breaks than this in one block they stay as they are written: no page is high enough for all. */
const MOST_LINES = 350;
/** A mark for a hidden character is shorter than this. */
const MARK = 12;

/** The blocks of all arguments, as many at a time as one piece of work comes to. */
export function* blocksOf(sources: readonly Source[]): Generator<Block[], void> {
  let ready: Block[] = [];
  let looked = 0;
  for (const [argument, { text }] of sources.entries()) {
    ready.push({ argument, isName: true, start: 0, end: 0 });
    for (const [start, end] of cuts(text)) {
      ready.push({ argument, isName: false, start, end });
      looked += end - start;
      if (looked >= PIECE) {
        yield ready;
        ready = [];
        looked = 0;
      }
    }
  }
  if (ready.length > 0) yield ready;
}

function* cuts(text: string): Generator<[number, number], void> {
  const escapes = text.startsWith('"');
  // Where the next escape is; looked up only once it is passed, so that all of the text is gone over once.
  let next = escapes ? text.indexOf("\\") : -1;
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + BLOCK, text.length);
    let line = -1;
    while (next !== -1 && next < end) {
      const width = text[next + 1] === "u" ? 6 : 2;
      if (next + width > end && end < text.length) {
        end = next;
        break;
      }
      if (text[next + 1] === "n") line = next + width;
      next = text.indexOf("\\", next + width);
    }
    if (end < text.length) {
      const part = text.slice(start, end);
      if (!escapes) line = start + part.lastIndexOf("\n") + 1;
      const cut = line > start ? line : whole(text, start, end);
      const again = escapes ? text.slice(cut, end).indexOf("\\") : -1;
      if (again !== -1) next = cut + again;
      end = cut;
    }
    yield [start, end];
    start = end;
  }
}

/** A little before a cut, where it would part what belongs together: both halves of a character, or a mark. */
function whole(text: string, start: number, end: number): number {
  const before = text.slice(Math.max(start, end - MARK), end);
  const open = before.lastIndexOf("⟦");
  if (open !== -1 && !before.includes("⟧", open)) end -= before.length - open;
  const code = text.charCodeAt(end);
  if (code >= 0xdc00 && code <= 0xdfff) end -= 1;
  else if (/^\\ud[c-f]/i.test(text.slice(end, end + 4)) && /\\ud[89ab][\da-f]{2}$/i.test(text.slice(end - 6, end))) end -= 6;
  return end > start ? end : start + 1;
}

/** What a block shows. Line breaks of a text are line breaks, and its quotes stay around it. */
export function blockText(text: string, { start, end }: Block): string {
  const part = text.slice(start, end);
  if (!text.startsWith('"') || !part.includes("\\n")) return part;
  const first = start === 0 ? '"' : "";
  const last = end === text.length ? '"' : "";
  const value = unescaped(part.slice(first.length, part.length - last.length));
  return value === null || manyLines(value) ? part : `${first}${value}${last}`;
}

/** JSON text as people read it: line breaks of a text are line breaks, and its quotes stay around it. */
export function readable(text: string): string {
  if (!text.startsWith('"') || !text.includes("\\n")) return text;
  const value = unescaped(text.slice(1, -1));
  return value === null ? text : `"${value}"`;
}

function unescaped(inner: string): string | null {
  try {
    const value: unknown = JSON.parse(`"${inner}"`);
    return typeof value === "string" && value.includes("\n") ? seen(value) : null;
  } catch {
    return null;
  }
}

function manyLines(value: string): boolean {
  let lines = 0;
  for (let at = value.indexOf("\n"); at !== -1 && lines <= MOST_LINES; at = value.indexOf("\n", at + 1)) lines += 1;
  return lines > MOST_LINES;
}

/** The blocks that are there already, and word of further ones. */
export type Blocks = { all: readonly Block[]; count: () => number; subscribe: (changed: () => void) => () => void };

/** Cuts on while somebody listens, one piece of work at a time; the first one is done at once. */
export function blocksInPieces(sources: readonly Source[]): Blocks {
  const pieces = blocksOf(sources);
  const all: Block[] = [];
  const cut = () => {
    const { value, done } = pieces.next();
    if (value) all.push(...value);
    return done !== true;
  };
  let more = cut();
  return {
    all,
    count: () => all.length,
    subscribe: (changed) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const goOn = () => {
        more = cut();
        changed();
        if (more) timer = setTimeout(goOn);
      };
      if (more) timer = setTimeout(goOn);
      return () => {
        clearTimeout(timer);
      };
    },
  };
}
