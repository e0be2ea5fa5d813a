// The languages, and which one is spoken.

import type { Preferences } from "../platform";

export type Language = "en" | "zh-CN";

/** Names of the languages, each in itself. */
export const languageNames: Record<Language, string> = { en: "English", "zh-CN": "简体中文" };

/** The language that suits a list of preferences best; English where none is known. */
export function bestLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (primary === "zh") return "zh-CN";
    if (primary === "en") return "en";
  }
  return "en";
}

/** The language that the preferences come to. */
export function languageOf(preferences: Preferences): Language {
  return preferences.language === "system" ? bestLanguage(navigator.languages) : preferences.language;
}
