// Texts that the core made: the key of a template and what stands in its places become words here and nowhere else.
// gatehousectl fills in the same templates in the same way (crates/common/src/messages.rs).

import type { Message, MessageParam } from "../generated/types";

/** The words of a language, and how it writes a moment. */
export type Words = { templates: Readonly<Record<string, string | undefined>>; time: (at: number) => string };

/** The key of what stands between the messages of a list. */
const AND = "list.and";

/** A template with its `{places}` filled in. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}

/** A message in words. A key without a template stands for itself. */
export function render({ key, params }: Message, words: Words): string {
  const values = Object.fromEntries(Object.entries(params).map(([place, param]) => [place, inWords(param, words)]));
  return fill(templateOf(key, words), values);
}

function inWords(param: MessageParam, words: Words): string {
  if ("text" in param) return param.text;
  if ("time" in param) return words.time(param.time);
  if ("message" in param) return render(param.message, words);
  return param.list.map((message) => render(message, words)).join(templateOf(AND, words));
}

function templateOf(key: string, { templates }: Words): string {
  return templates[key] ?? key;
}
