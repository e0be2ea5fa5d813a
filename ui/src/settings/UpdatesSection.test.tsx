import { fireEvent, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import { defaultPreferences, type Platform, type UpdateStatus } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { UpdatesSection } from "./UpdatesSection";

function show(first: UpdateStatus, rest: Partial<Platform> = {}) {
  const platform = {
    command: () => Promise.resolve(null),
    events: () => () => undefined,
    updateStatus: () => Promise.resolve(first),
    ...rest,
  } as unknown as Platform;
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <UpdatesSection />
      </CoreProvider>
    </ThemeProvider>,
  );
}

it("offers nothing where the build has no source of updates", async () => {
  show({ state: "unavailable" });
  expect(await screen.findByText("Updates come from where you installed Gatehouse.")).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});

it("installs only after two clicks", async () => {
  const asked: string[] = [];
  show(
    { state: "idle" },
    {
      checkUpdate: () => {
        asked.push("check");
        return Promise.resolve({ state: "available", version: "2.0.0" });
      },
      installUpdate: () => {
        asked.push("install");
        return Promise.resolve({ state: "installed", version: "2.0.0" });
      },
    },
  );
  const check = await screen.findByRole("button", { name: "Check for updates" });
  expect(asked).toEqual([]);
  fireEvent.click(check);
  fireEvent.click(await screen.findByRole("button", { name: "Install 2.0.0" }));
  expect(await screen.findByText(/Version 2.0.0 is installed/)).toBeTruthy();
  expect(asked).toEqual(["check", "install"]);
});
