import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";

import { App } from "../App";
import { connectCore } from "../core/connectCore";
import { defaultPreferences, type Platform } from "../platform";

/** The main window of a core that did not start. */
function showWithoutCore() {
  const signals = vi.fn(() => () => undefined);
  const never = () => () => undefined;
  const platform = {
    command: () => Promise.reject(new Error("no core")),
    vault: () => Promise.resolve({ state: "none" }),
    events: never,
    signals,
    painted: () => Promise.resolve(),
  } as unknown as Platform;
  render(
    <App connection={connectCore(platform)} initial={{ ...defaultPreferences, language: "en", theme: "light" }} />,
  );
  return signals;
}

describe("the main window", () => {
  it("has the palette and hears the shell, also if the core did not start", async () => {
    const signals = showWithoutCore();
    fireEvent.keyDown(document.body, { key: "k", ctrlKey: true });
    expect(await screen.findByRole("button", { name: "Go to Settings" }, { timeout: 10_000 })).toBeTruthy();
    expect(signals).toHaveBeenCalled();
  });
});
