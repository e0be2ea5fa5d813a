import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { prepareFirstPage } from "./app-shell/prepareFirstPage";
import type { CoreConnection } from "./core/connectCore";
import type { Preferences } from "./platform";

/** Renders the main window for the first time, over a connection that listens already. */
export async function renderMain(connection: CoreConnection, preferences: Preferences): Promise<void> {
  const root = document.getElementById("root");
  if (!root) return;
  await prepareFirstPage(connection, preferences);
  createRoot(root).render(
    <StrictMode>
      <App connection={connection} initial={preferences} />
    </StrictMode>,
  );
}
