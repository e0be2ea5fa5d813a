import { MantineProvider } from "@mantine/core";
import { useEffect, useMemo, useState, type ReactNode } from "react";

import { SpeechContext, type Language, type Speech } from "../messages";
import { loadCatalogue, loadedCatalogue } from "../messages/loadCatalogue";
import type { Preferences } from "../platform";
import { themeWith } from "./theme";
import { useAppearance } from "./useAppearance";

/** Appearance and language around the main window's page. Nothing is shown before the texts are loaded. */
export function ThemeProvider({ preferences, children }: { preferences: Preferences; children: ReactNode }) {
  const { scheme, language } = useAppearance(preferences);
  const speech = useLoadedSpeech(language);
  const theme = useMemo(() => speech && themeWith(speech.messages["appShell.close"]), [speech]);
  if (!speech || !theme) return null;
  return (
    <MantineProvider theme={theme} forceColorScheme={scheme} withCssVariables={false} withGlobalClasses={false}>
      <SpeechContext value={speech}>{children}</SpeechContext>
    </MantineProvider>
  );
}

/** The texts of a language; those of the one before until they are loaded. */
function useLoadedSpeech(language: Language): Speech | undefined {
  const [speech, setSpeech] = useState<Speech | undefined>(() => {
    const messages = loadedCatalogue(language);
    return messages && { language, messages };
  });
  useEffect(() => {
    let gone = false;
    void loadCatalogue(language).then((messages) => {
      if (!gone) setSpeech((before) => (before?.language === language ? before : { language, messages }));
    });
    return () => {
      gone = true;
    };
  }, [language]);
  return speech;
}
