import { createContext, useContext } from "react";

import { en } from "./en";
import { zhCN } from "./zh-CN";

export type MessageKey = keyof typeof en;
export type Messages = Record<MessageKey, string>;
export type Language = "en" | "zh-CN";

/** Names of the languages, each in itself. */
export const languageNames: Record<Language, string> = { en: "English", "zh-CN": "简体中文" };

export const catalogues: Record<Language, Messages> = { en, "zh-CN": zhCN };

/** The language that suits a list of preferences best; English where none is known. */
export function bestLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (primary === "zh") return "zh-CN";
    if (primary === "en") return "en";
  }
  return "en";
}

/** A message with its `{places}` filled in. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}

export const LanguageContext = createContext<Language>("en");

export type Translate = (key: MessageKey, values?: Readonly<Record<string, string | number>>) => string;

/** The messages in the language of the window. */
export function useMessages(): Translate {
  const catalogue = catalogues[useContext(LanguageContext)];
  return (key, values = {}) => fill(catalogue[key], values);
}
