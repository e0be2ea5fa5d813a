import "@mantine/core/styles.css";
import "./theme/theme.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./App";
import { tauriPlatform } from "./platform";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App platform={tauriPlatform} />
    </StrictMode>,
  );
}
