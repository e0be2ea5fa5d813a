import { createContext, useContext, useMemo } from "react";

import type { Message } from "../generated/types";
import type { en } from "./en";
import type { Language } from "./language";
import { format, render, type Values } from "./render";

export { languageNames, type Language } from "./language";
export { render } from "./render";

export type MessageKey = keyof typeof en;
export type Messages = Record<MessageKey, string>;
/** The language of the window, and its messages. */
export type Speech = { language: Language; messages: Messages };

export const SpeechContext = createContext<Speech | null>(null);

function useSpeech(): Speech {
  const speech = useContext(SpeechContext);
  if (!speech) throw new Error("no Look above");
  return speech;
}

/**
 * Looks a message up and fills its values in. `language` is the one that it does so in; `render` does the same for texts
 * of the core.
 */
export type Translate = { (key: MessageKey, values?: ListedValues): string; language: Language; render: Render };

/** Values of a message; names in a list are separated as the language does. */
type ListedValues = Readonly<Record<string, string | number | readonly string[]>>;

/** The key of what separates names in a list. */
const NAME_SEPARATOR = "app.nameSeparator";

/** The messages of one language. A key that its catalogs lack stands for itself. */
export function translator({ language, messages }: Speech): Translate {
  const templates: Readonly<Record<string, string | undefined>> = messages;
  const listed = (value: ListedValues[string]) =>
    typeof value === "object" ? value.join(templates[NAME_SEPARATOR] ?? NAME_SEPARATOR) : value;
  const translate = (key: MessageKey, values: ListedValues = {}) => {
    const template = templates[key];
    if (template === undefined) return key;
    const inWords: Values = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, listed(value)]));
    return format(template, language, inWords);
  };
  const words = { language, templates, time: (at: number) => timesIn(language).full(at) };
  return Object.assign(translate, { language, render: (message: Message) => render(message, words) });
}

/** The messages in the language of the window. The same function for as long as the language is. */
export function useMessages(): Translate {
  const speech = useSpeech();
  return useMemo(() => translator(speech), [speech]);
}

/** A text that the core made, in words. */
export type Render = (message: Message) => string;

/** Texts of the core in the language of the window. */
export function useRender(): Render {
  return useMessages().render;
}

/** Times as people in the window's language write them. */
export function useTimes() {
  return timesIn(useSpeech().language);
}

const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

/** Sizes as people in the window's language write them. */
export function useSizes(): (bytes: number) => string {
  const { language } = useSpeech();
  return (bytes) => {
    const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
    const unit = units[step] ?? "byte";
    const unitDisplay = step === 0 ? "long" : "short";
    const size = new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay, maximumSignificantDigits: 3 });
    return size.format(bytes / 1000 ** step);
  };
}

const known = new Map<Language, ReturnType<typeof makeTimes>>();

function timesIn(language: Language) {
  const there = known.get(language);
  if (there) return there;
  const made = makeTimes(language);
  known.set(language, made);
  return made;
}

function makeTimes(language: Language) {
  const time = new Intl.DateTimeFormat(language, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
  });
  const full = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hour12: false });
  const day = new Intl.DateTimeFormat(language, { dateStyle: "full" });
  const ago = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const fromNow = (ms: number) => {
    const seconds = Math.round(ms / 1000);
    if (Math.abs(seconds) < 60) return ago.format(seconds, "second");
    if (Math.abs(seconds) < 3600) return ago.format(Math.round(seconds / 60), "minute");
    if (Math.abs(seconds) < 86_400) return ago.format(Math.round(seconds / 3600), "hour");
    return ago.format(Math.round(seconds / 86_400), "day");
  };
  return {
    /** The time of the day. */
    time: (at: number) => time.format(at),
    /** The day. */
    day: (at: number) => day.format(at),
    /** Day and time. */
    full: (at: number) => full.format(at),
    /** How long ago it was, in the largest unit that says something. `now` may be a little older. */
    ago: (at: number, now: number) => fromNow(Math.min(0, at - now)),
    /** When it will be or how long ago it was, in the same way. */
    fromNow: (at: number, now: number) => fromNow(at - now),
  };
}
