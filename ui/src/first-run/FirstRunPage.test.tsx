import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { FirstRunPage } from "./FirstRunPage";

it("moves the focus to the next step, from within the one that is done", () => {
  const preferences = { ...defaultPreferences, language: "en", theme: "light" } as const;
  const platform = {
    command: () => new Promise(() => undefined),
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <ThemeProvider preferences={preferences}>
      <CoreProvider platform={platform}>
        <FirstRunPage preferences={preferences} onPreferences={() => undefined} />
      </CoreProvider>
    </ThemeProvider>,
  );
  const next = screen.getByRole("button", { name: "Next" });
  next.focus();
  fireEvent.click(next);
  const step = screen.getByRole("button", { expanded: true });
  expect(step.textContent).toContain("2");
  expect(document.activeElement).toBe(step);
});
