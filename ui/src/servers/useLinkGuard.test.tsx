import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { AddServerForm } from "./AddServerForm";
import { emptyServerForm, toDraft } from "./serverForm";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (millis: number) => {
  act(() => {
    vi.advanceTimersByTime(millis);
  });
};
const takesPresses = () =>
  ["Test connection", "Add server"].map((name) => !screen.getByRole<HTMLButtonElement>("button", { name }).disabled);

function show(link?: { hadSecrets: boolean }) {
  const command = vi.fn(() => new Promise<never>(() => undefined));
  const platform = { command, events: () => () => undefined } as unknown as Platform;
  const { draft } = toDraft({ ...emptyServerForm, name: "Linked", command: "npx -y weather" });
  const filled = { draft, secrets: [], ...(link && { link }) };
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <AddServerForm onClose={vi.fn()} onImport={vi.fn()} filled={filled} />
      </CoreProvider>
    </ThemeProvider>,
  );
}

test("a form that a link fills takes a press only after it was in front for a while", () => {
  show({ hadSecrets: false });
  pass(0);
  expect(takesPresses()).toEqual([false, false]);
  pass(499);
  expect(takesPresses()).toEqual([false, false]);
  pass(1);
  expect(takesPresses()).toEqual([true, true]);
  fireEvent.focus(window);
  expect(takesPresses()).toEqual([false, false]);
  pass(500);
  expect(takesPresses()).toEqual([true, true]);
});

test("a form that the user opened takes a press at once", () => {
  show();
  pass(0);
  expect(takesPresses()).toEqual([true, true]);
});
