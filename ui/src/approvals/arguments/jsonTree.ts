// JSON text as a tree. Scalars and names keep the text that was sent: nothing is parsed and written again, so numbers
// and escapes are shown as they are. Pure.

export type JsonMember = { name: string; value: JsonNode };

/** `text` is JSON text. */
export type JsonNode =
  | { kind: "scalar"; text: string }
  | { kind: "object"; members: readonly JsonMember[] }
  | { kind: "array"; items: readonly JsonNode[] };

/** A value with more parts than this is shown as the text that it is. */
export const MOST_NODES = 500;
/** And one that is nested deeper than this. */
const DEEPEST = 24;

/** A bracket or separator, a string, or another scalar. */
const TOKEN = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s{}[\],:"]+))/y;

/** The tree of a JSON text; null where it is none, or too large for one. */
export function parseTree(text: string): JsonNode | null {
  const reader = new TreeReader(text);
  const tree = reader.value(reader.next(), 0);
  return reader.isAtEnd() ? tree : null;
}

class TreeReader {
  private readonly token = new RegExp(TOKEN);
  private end = 0;
  private left = MOST_NODES;

  constructor(private readonly text: string) {}

  /** Whether all of the text was read. */
  isAtEnd(): boolean {
    return this.text.slice(this.end).trim() === "";
  }

  next(): string | null {
    this.token.lastIndex = this.end;
    const found = this.token.exec(this.text);
    if (found) this.end = this.token.lastIndex;
    return found?.[1] ?? found?.[2] ?? found?.[3] ?? null;
  }

  value(first: string | null, depth: number): JsonNode | null {
    this.left -= 1;
    if (first === null || this.left < 0 || depth > DEEPEST) return null;
    if (first === "{") {
      const members = this.list("}", (name) => this.member(name, depth));
      return members && { kind: "object", members };
    }
    if (first === "[") {
      const items = this.list("]", (item) => this.value(item, depth + 1));
      return items && { kind: "array", items };
    }
    return "}],:".includes(first) ? null : { kind: "scalar", text: first };
  }

  private member(name: string, depth: number): JsonMember | null {
    if (!name.startsWith('"') || this.next() !== ":") return null;
    const value = this.value(this.next(), depth + 1);
    return value && { name: name.slice(1, -1), value };
  }

  private list<Part>(end: string, part: (first: string) => Part | null): Part[] | null {
    const parts: Part[] = [];
    let first = this.next();
    while (first !== end || parts.length > 0) {
      const one = first === null ? null : part(first);
      if (one === null) return null;
      parts.push(one);
      const separator = this.next();
      if (separator === end) return parts;
      if (separator !== ",") return null;
      first = this.next();
    }
    return parts;
  }
}
