import "./theme/mantine.css";
import "@mantine/notifications/styles.layer.css";
import "@mantine/spotlight/styles.layer.css";
import "./theme/tokens.css";
import "./theme/utilities.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { platform } from "#base";
import { App } from "./App";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App platform={platform} />
    </StrictMode>,
  );
}
