import { notifications } from "@mantine/notifications";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ActionProgress } from "../app-shell/ActionProgress";
import { SLOW_MS } from "../components/slow";
import { CoreProvider } from "../core/CoreProvider";
import { defaultPreferences, type Platform } from "../platform";
import { ThemeProvider } from "../theme/ThemeProvider";
import { AuditSection } from "./AuditSection";

/** The section over a core that ends a verification or an export only when it is cancelled. */
function show() {
  const asked: [string, unknown][] = [];
  const ends: (() => void)[] = [];
  const platform = {
    command: (name: string, args: unknown) => {
      asked.push([name, args]);
      if (name === "servers.stopRun") for (const end of ends.splice(0)) end();
      if (!name.startsWith("audit.")) return Promise.resolve(null);
      return new Promise((_, reject: (thrown: Error) => void) => {
        ends.push(() => {
          reject(Object.assign(new Error("It was cancelled."), { code: "cancelled", cause: null, hint: null }));
        });
      });
    },
    events: () => () => undefined,
  } as unknown as Platform;
  render(
    <ThemeProvider preferences={{ ...defaultPreferences, language: "en", theme: "light" }}>
      <CoreProvider platform={platform}>
        <ActionProgress />
        <AuditSection />
      </CoreProvider>
    </ThemeProvider>,
  );
  return { argsOf: (name: string) => asked.filter(([one]) => one === name).map(([, args]) => args) };
}

const pass = (time: number) => act(() => vi.advanceTimersByTimeAsync(time));

describe("the audit", () => {
  beforeEach(() => {
    vi.useFakeTimers({ shouldAdvanceTime: true });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["Verify", "audit.verify"],
    ["Copy as CSV", "audit.export"],
  ])("shows that %s takes long, and cancels it", async (name, command) => {
    const shown = vi.spyOn(notifications, "show");
    const { argsOf } = show();
    fireEvent.click(screen.getByRole("button", { name }));
    await pass(SLOW_MS / 2);
    expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
    await pass(SLOW_MS);
    fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
    await pass(0);
    const [begun] = argsOf(command) as { run: string }[];
    expect(argsOf("servers.stopRun")).toEqual([{ run: begun?.run }]);
    expect(screen.queryByRole("button", { name: "Cancel" })).toBeNull();
    expect(shown).not.toHaveBeenCalled();
  });
});
