import { MantineProvider } from "@mantine/core";
import { useMemo, type ReactNode } from "react";

import { SpeechContext } from "../messages";
import { catalogues } from "../messages/catalogues";
import type { Preferences } from "../platform";
import { themeWith } from "./theme";
import { useAppearance } from "./useAppearance";

/** Appearance and language around the main window's page. */
export function ThemeProvider({ preferences, children }: { preferences: Preferences; children: ReactNode }) {
  const { scheme, language } = useAppearance(preferences);
  const speech = useMemo(() => ({ language, messages: catalogues[language] }), [language]);
  const theme = useMemo(() => themeWith(catalogues[language]["appShell.close"]), [language]);
  return (
    <MantineProvider theme={theme} forceColorScheme={scheme} withCssVariables={false} withGlobalClasses={false}>
      <SpeechContext value={speech}>{children}</SpeechContext>
    </MantineProvider>
  );
}
