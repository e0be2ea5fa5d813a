// Source spans in a JSON text. Only what loads the editor may import this, since it brings a parser.

import { jsonLanguage } from "@codemirror/lang-json";
import type { SyntaxNode } from "@lezer/common";

export type Span = { from: number; to: number };
export type MemberSpan = { key: Span; value: Span };

/** The spans of all members by JSON pointer; a duplicate member has two. */
export function memberSpans(text: string): ReadonlyMap<string, readonly MemberSpan[]> {
  const found = new Map<string, MemberSpan[]>();
  const walk = (node: SyntaxNode, pointer: string) => {
    let index = 0;
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (node.name === "Object" && child.name === "Property") {
        const key = child.firstChild;
        const value = child.lastChild;
        if (!key || !value || key.name !== "PropertyName") continue;
        const at = `${pointer}/${escapePointerToken(named(text.slice(key.from, key.to)))}`;
        found.set(at, [...(found.get(at) ?? []), { key: span(key), value: span(value) }]);
        walk(value, at);
      } else if (node.name === "Array" && /^(Object|Array|String|Number|True|False|Null)$/.test(child.name)) {
        const at = `${pointer}/${String(index++)}`;
        found.set(at, [{ key: span(child), value: span(child) }]);
        walk(child, at);
      }
    }
  };
  const top = jsonLanguage.parser.parse(text).topNode.firstChild;
  if (top) {
    found.set("", [{ key: span(top), value: span(top) }]);
    walk(top, "");
  }
  return found;
}

/** The span of the first syntax error; null for valid JSON. */
export function syntaxErrorSpan(text: string): Span | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const errors: Span[] = [];
    jsonLanguage.parser.parse(text).iterate({
      enter: (node) => {
        if (node.type.isError)
          errors.push({ from: node.from, to: Math.max(node.to, Math.min(node.from + 1, text.length)) });
      },
    });
    return errors[0] ?? { from: 0, to: text.length };
  }
}

/** Escapes a member's name for a JSON pointer. */
export const escapePointerToken = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");

const span = ({ from, to }: SyntaxNode): Span => ({ from, to });

function named(key: string): string {
  try {
    return String(JSON.parse(key));
  } catch {
    return key;
  }
}
