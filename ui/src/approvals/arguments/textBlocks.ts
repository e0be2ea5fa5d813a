// Large arguments as blocks, of which only the visible ones are rendered. A text is cut from its start to its
// end, a bounded chunk at a time; nothing is left out, and no character or mark is split.

import { seen } from "../../components/invisibleChars";

/** An argument's name and JSON text. */
export type ArgumentText = { name: string; text: string };

/** An argument's name (`end` is 0), or a range of its text. */
export type Block = { argument: number; isName: boolean; start: number; end: number };

/** Maximum characters of JSON text in a block. */
export const BLOCK_CHARS = 2000;
/** Characters that are read per chunk. */
const CHUNK_CHARS = 200_000;
/** Above this number of line breaks in a block, they stay escaped, since elements have a maximum height. */
const MAX_LINES = 350;
/** A mark for a hidden character is shorter than this. */
const MARK = 12;

/** Yields the blocks of all arguments, one chunk at a time. */
export function* blocksOf(sources: readonly ArgumentText[]): Generator<Block[], void> {
  let ready: Block[] = [];
  let looked = 0;
  for (const [argument, { text }] of sources.entries()) {
    ready.push({ argument, isName: true, start: 0, end: 0 });
    for (const [start, end] of cuts(text)) {
      ready.push({ argument, isName: false, start, end });
      looked += end - start;
      if (looked >= CHUNK_CHARS) {
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
    let end = Math.min(start + BLOCK_CHARS, text.length);
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
      const cut = line > start ? line : withoutSplitMark(text, start, end);
      const again = escapes ? text.slice(cut, end).indexOf("\\") : -1;
      if (again !== -1) next = cut + again;
      end = cut;
    }
    yield [start, end];
    start = end;
  }
}

/** Moves a cut back so that it does not split a surrogate pair or a mark. */
function withoutSplitMark(text: string, start: number, end: number): number {
  const before = text.slice(Math.max(start, end - MARK), end);
  const open = before.lastIndexOf("⟦");
  if (open !== -1 && !before.includes("⟧", open)) end -= before.length - open;
  const code = text.charCodeAt(end);
  if (code >= 0xdc00 && code <= 0xdfff) end -= 1;
  else if (/^\\ud[c-f]/i.test(text.slice(end, end + 4)) && /\\ud[89ab][\da-f]{2}$/i.test(text.slice(end - 6, end)))
    end -= 6;
  return end > start ? end : start + 1;
}

/** The text of a block. Escaped line breaks become line breaks; quotes stay. */
export function blockText(text: string, { start, end }: Block): string {
  const part = text.slice(start, end);
  if (!text.startsWith('"') || !part.includes("\\n")) return part;
  const first = start === 0 ? '"' : "";
  const last = end === text.length ? '"' : "";
  const value = unescaped(part.slice(first.length, part.length - last.length));
  return value === null || manyLines(value) ? part : `${first}${value}${last}`;
}

/** JSON text for display: escaped line breaks become line breaks; quotes stay. */
export function displayText(text: string): string {
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
  for (let at = value.indexOf("\n"); at !== -1 && lines <= MAX_LINES; at = value.indexOf("\n", at + 1)) lines += 1;
  return lines > MAX_LINES;
}

/** The blocks cut so far, and a subscription to further ones. */
export type BlockStore = { all: readonly Block[]; count: () => number; subscribe: (changed: () => void) => () => void };

/** A store without blocks. */
export const emptyBlockStore: BlockStore = { all: [], count: () => 0, subscribe: () => () => undefined };

/** Cuts one chunk at a time while it has subscribers; the first chunk is cut at once. */
export function createBlockStore(sources: readonly ArgumentText[]): BlockStore {
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
