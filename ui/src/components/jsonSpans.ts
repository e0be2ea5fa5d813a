// Source spans in a JSON text. Only what loads the editor may import this, since it brings a parser.

import { jsonLanguage } from "@codemirror/lang-json";

export type Span = { from: number; to: number };

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
