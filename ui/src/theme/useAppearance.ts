import { useEffect, useLayoutEffect, useState } from "react";

import { languageOf, type Language } from "../messages/language";
import type { Preferences } from "../platform";

/** The preferences of the window, and how they are changed. */
export type PreferencesProps = { preferences: Preferences; onPreferences: (preferences: Preferences) => void };

const dark = "(prefers-color-scheme: dark)";

/** What the preferences come to on this desktop; the document says so to styles and readers. */
export function useAppearance(preferences: Preferences): { scheme: "light" | "dark"; language: Language } {
  const [darkSystem, setDarkSystem] = useState(() => matchMedia(dark).matches);
  useEffect(() => {
    const query = matchMedia(dark);
    const changed = () => {
      setDarkSystem(query.matches);
    };
    query.addEventListener("change", changed);
    return () => {
      query.removeEventListener("change", changed);
    };
  }, []);
  const scheme = preferences.theme === "system" ? (darkSystem ? "dark" : "light") : preferences.theme;
  const language = languageOf(preferences);
  // Before the first paint, which would otherwise be in the system's look.
  useLayoutEffect(() => {
    document.documentElement.lang = language;
    document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
  }, [language, scheme]);
  return { scheme, language };
}
