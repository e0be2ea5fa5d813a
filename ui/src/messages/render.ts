// Renders the templates of `locales/`: ICU MessageFormat with the values of a text. gatehousectl and the tray render the
// same templates in the same way (crates/model/src/messages.rs); `locales/format-cases.json` is a table for both sides.

import { IntlMessageFormat } from "intl-messageformat";

import type { Message, MessageParam } from "../generated/types";

export type Values = Readonly<Record<string, string | number>>;

/** The templates of a language, and how it writes a moment. */
export type Words = {
  language: string;
  templates: Readonly<Record<string, string | undefined>>;
  time: (at: number) => string;
};

/** The key of the separator between the messages of a list. */
const AND = "list.and";

/** Parsed templates, by language and template. The catalogs bound their number. */
const parsed = new Map<string, IntlMessageFormat>();

/** A template with its values. An argument without a value is shown as `{name}`; values are never templates themselves. */
export function format(template: string, language: string, values: Values): string {
  const id = `${language} ${template}`;
  let message = parsed.get(id);
  if (!message) {
    message = new IntlMessageFormat(template, language, undefined, { ignoreTag: true });
    parsed.set(id, message);
  }
  return String(message.format(new Proxy(values, withNames)));
}

/** Every argument has a value: its own name where none is given. */
const withNames: ProxyHandler<Values> = {
  has: () => true,
  get: (values, name) =>
    typeof name === "string" ? (Object.hasOwn(values, name) ? values[name] : `{${name}}`) : undefined,
};

/** A message in words. A key without a template stands for itself. */
export function render({ key, params }: Message, words: Words): string {
  const template = words.templates[key];
  if (template === undefined) return key;
  return format(
    template,
    words.language,
    Object.fromEntries(Object.entries(params).map(([name, param]) => [name, valueOf(param, words)])),
  );
}

function valueOf(param: MessageParam, words: Words): string | number {
  if ("text" in param) return param.text;
  if ("number" in param) return param.number;
  if ("time" in param) return words.time(param.time);
  if ("message" in param) return render(param.message, words);
  return param.list.map((message) => render(message, words)).join(words.templates[AND] ?? AND);
}
