import { MantineProvider } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useEffect, useMemo, type ReactNode } from "react";

import { bestLanguage, catalogues, LanguageContext } from "../messages";
import type { Preferences } from "../platform";
import { themeWith } from "./theme";

/** Appearance and language around the page of a window. */
export function Look({ preferences, children }: { preferences: Preferences; children: ReactNode }) {
  const darkSystem = useMediaQuery("(prefers-color-scheme: dark)", false, { getInitialValueInEffect: false });
  const scheme = preferences.theme === "system" ? (darkSystem ? "dark" : "light") : preferences.theme;
  const language =
    preferences.language === "system" ? bestLanguage(navigator.languages) : preferences.language;

  const theme = useMemo(() => themeWith(catalogues[language]["frame.close"]), [language]);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  return (
    <MantineProvider theme={theme} forceColorScheme={scheme} withCssVariables={false} withGlobalClasses={false}>
      <LanguageContext value={language}>{children}</LanguageContext>
    </MantineProvider>
  );
}
