import { MantineProvider } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useEffect, useState } from "react";

import { bestLanguage, LanguageContext } from "./messages";
import type { Platform, Preferences } from "./platform";
import { StatusPage } from "./StatusPage";

const defaults: Preferences = { theme: "system", language: "system" };

/** The whole window: appearance and language around the page. */
export function App({ platform }: { platform: Platform }) {
  const [preferences, change] = usePreferences(platform);
  const darkSystem = useMediaQuery("(prefers-color-scheme: dark)", false, { getInitialValueInEffect: false });
  const theme = preferences.theme === "system" ? (darkSystem ? "dark" : "light") : preferences.theme;
  const language =
    preferences.language === "system" ? bestLanguage(navigator.languages) : preferences.language;

  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  return (
    <MantineProvider forceColorScheme={theme} withCssVariables={false} withGlobalClasses={false}>
      <LanguageContext value={language}>
        <StatusPage platform={platform} preferences={preferences} onChange={change} />
      </LanguageContext>
    </MantineProvider>
  );
}

/** The preferences, and a way to change them that holds at once and is kept when it can be. */
function usePreferences(platform: Platform): [Preferences, (preferences: Preferences) => void] {
  const [preferences, setPreferences] = useState(defaults);
  useEffect(() => {
    let gone = false;
    platform.preferences().then(
      (kept) => {
        if (!gone) setPreferences(kept);
      },
      () => {
        // The defaults stand: how a window looks is worth no error message.
      },
    );
    return () => {
      gone = true;
    };
  }, [platform]);
  const change = (wanted: Preferences) => {
    setPreferences(wanted);
    platform.setPreferences(wanted).catch(() => {
      // It holds until the window is closed.
    });
  };
  return [preferences, change];
}
