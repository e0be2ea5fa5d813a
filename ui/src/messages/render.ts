// Renders the templates of `locales/`: ICU MessageFormat with the values of a text. gatehousectl and the tray render the
// same templates in the same way (crates/model/src/messages.rs); `locales/format-cases.json` is a table for both sides.

import { IntlMessageFormat, type Formatters } from "intl-messageformat";

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

/** The key of the template for a sentence after another one: what stands between its places stands between sentences. */
const NEXT_SENTENCE = "list.sentences";

/** How many messages may be nested; what is nested deeper is not rendered. */
const MAX_DEPTH = 16;

/** Stands for a message that is nested too deeply. */
const LEFT_OUT = "…";

/** Parsed templates, by language and template. The catalogs bound their number. */
const parsed = new Map<string, IntlMessageFormat>();

/** What a template with an argument or a quote has. Others are the text itself, and most are: a parser for each would delay the first paint. */
const SYNTAX = /[{}']/;

/**
 * Plain whole numbers below a thousand, which all languages here write alike: what the web view loads to format numbers
 * takes 10 ms.
 */
const isShort = (value: number | bigint) => Number.isInteger(value) && Math.abs(Number(value)) < 1000;

/** Makes each thing once. */
function once<Given extends unknown[], Made>(make: (...given: Given) => Made): (...given: Given) => Made {
  const made = new Map<string, Made>();
  return (...given) => {
    const id = JSON.stringify(given);
    const one = made.get(id) ?? make(...given);
    made.set(id, one);
    return one;
  };
}

const numberFormat = once((...given: Parameters<Formatters["getNumberFormat"]>) => new Intl.NumberFormat(...given));

/** What the library formats with. */
const formatters: Formatters = {
  getNumberFormat: (languages, style) => {
    const format = (value: number | bigint) =>
      style === undefined && isShort(value) ? String(value) : numberFormat(languages, style).format(value);
    return { format } as Intl.NumberFormat;
  },
  getPluralRules: once((...given) => new Intl.PluralRules(...given)),
  getDateTimeFormat: once((...given) => new Intl.DateTimeFormat(...given)),
};

/** A template with its values. An argument without a value is shown as `{name}`; values are never templates themselves. */
export function format(template: string, language: string, values: Values): string {
  if (!SYNTAX.test(template)) return template;
  const id = `${language} ${template}`;
  let message = parsed.get(id);
  if (!message) {
    message = new IntlMessageFormat(template, language, undefined, { ignoreTag: true, formatters });
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
export function render(message: Message, words: Words): string {
  return renderAt(message, words, 0);
}

/** A message that is nested in `depth` others. */
function renderAt({ key, params }: Message, words: Words, depth: number): string {
  if (depth === MAX_DEPTH) return LEFT_OUT;
  const template = words.templates[key];
  if (template === undefined) return key;
  return format(
    template,
    words.language,
    Object.fromEntries(Object.entries(params).map(([name, param]) => [name, valueOf(param, words, depth + 1)])),
  );
}

function valueOf(param: MessageParam, words: Words, depth: number): string | number {
  if ("text" in param) return param.text;
  if ("number" in param) return param.number;
  if ("time" in param) return words.time(param.time);
  if ("message" in param) return renderAt(param.message, words, depth);
  const texts = (messages: readonly Message[]) => messages.map((message) => renderAt(message, words, depth));
  if ("list" in param) return texts(param.list).join(words.templates[AND] ?? AND);
  return texts(param.sentences).join(betweenSentences(words));
}

/** What stands between two sentences: a space, or nothing in Chinese. */
function betweenSentences({ templates, language }: Words): string {
  return format(templates[NEXT_SENTENCE] ?? NEXT_SENTENCE, language, { first: "", second: "" });
}
