import "../theme/tokens.css";
import "../theme/utilities.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { promptPlatform } from "#base";
import { PromptWindow } from "./PromptWindow";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <PromptWindow platform={promptPlatform} />
    </StrictMode>,
  );
}
