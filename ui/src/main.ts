import "./theme/mantine.css";
import "@mantine/notifications/styles.layer.css";
import "@mantine/spotlight/styles.layer.css";
import "./theme/tokens.css";
import "./theme/utilities.css";

import { platform } from "#base";
import { connectCore } from "./core/connectCore";
import { restorePageState } from "./core/pageState";
import { readForFirstPaint } from "./core/readForFirstPaint";
import { languageOf } from "./messages/language";
import { loadCatalogue } from "./messages/loadCatalogue";
import { defaultPreferences, type Platform, type Preferences } from "./platform";

// The rest of the page is on its way while the core is asked for what the first paint shows: both take long.
const page = import("./renderMain");
// The page that most windows open with. Where it cannot be loaded, that is said when it is shown.
if (window.location.hash === "") import("./servers/ServersPage").catch(() => undefined);
const connection = connectCore(platform);
// Before anything is read: what happens in between is not missed.
connection.listen();
const first = Promise.all([initialPreferences(platform), restorePageState(platform), readForFirstPaint(connection)]);
void page.then(async ({ renderMain }) => {
  const [preferences] = await first;
  await renderMain(connection, preferences);
});

/** The stored preferences, with the texts of their language loaded: the first paint has the right look. */
async function initialPreferences(platform: Platform): Promise<Preferences> {
  // Those of the system's language are loaded meanwhile; most people have no other.
  loadCatalogue(languageOf(defaultPreferences)).catch(() => undefined);
  // How a window looks is worth no error message: the defaults stand.
  const preferences = await platform.preferences().catch(() => defaultPreferences);
  await loadCatalogue(languageOf(preferences));
  return preferences;
}
