import "./theme/mantine.css";
import "@mantine/notifications/styles.layer.css";
import "@mantine/spotlight/styles.layer.css";
import "./theme/tokens.css";
import "./theme/utilities.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { platform } from "#base";
import { App } from "./App";
import { prepareFirstPage } from "./app-shell/prepareFirstPage";
import { connectCore } from "./core/CoreProvider";
import { readForFirstPaint } from "./core/readForFirstPaint";
import { loadCatalogue } from "./messages/loadCatalogue";
import { defaultPreferences, type Platform, type Preferences } from "./platform";
import { languageOf } from "./theme/useAppearance";

const root = document.getElementById("root");
if (root) {
  const connection = connectCore(platform);
  // Before anything is read: what happens in between is not missed.
  connection.listen();
  void Promise.all([initialPreferences(platform), readForFirstPaint(connection)]).then(async ([preferences]) => {
    await prepareFirstPage(connection, preferences);
    createRoot(root).render(
      <StrictMode>
        <App connection={connection} initial={preferences} />
      </StrictMode>,
    );
  });
}

/** The stored preferences, with the texts of their language loaded: the first paint has the right look. */
async function initialPreferences(platform: Platform): Promise<Preferences> {
  // Those of the system's language are loaded meanwhile; most people have no other.
  loadCatalogue(languageOf(defaultPreferences)).catch(() => undefined);
  // How a window looks is worth no error message: the defaults stand.
  const preferences = await platform.preferences().catch(() => defaultPreferences);
  await loadCatalogue(languageOf(preferences));
  return preferences;
}
