import { act, renderHook } from "@testing-library/react";
import { beforeEach, expect, it, vi } from "vitest";

import { showError } from "./core/useAction";
import { defaultPreferences, toUserError, type Platform, type Preferences } from "./platform";
import { usePreferences } from "./usePreferences";

vi.mock("./core/useAction", () => ({ showError: vi.fn() }));

const full = toUserError("disk full");

/** Ends each attempt to store preferences, in the order of the changes. */
let attempts: { succeed: () => void; fail: () => void }[] = [];

function show() {
  const setPreferences = () =>
    new Promise<void>((succeed, reject) => {
      attempts.push({
        succeed,
        fail: () => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the platform rejects
          reject(full);
        },
      });
    });
  const { result } = renderHook(() => usePreferences({ setPreferences } as unknown as Platform, defaultPreferences));
  return {
    now: () => result.current[0],
    change: (part: Partial<Preferences>) => {
      act(() => {
        result.current[1]({ ...result.current[0], ...part });
      });
    },
    stored: (at: number) =>
      act(async () => {
        attempts[at]?.succeed();
        await Promise.resolve();
      }),
    failed: (at: number) =>
      act(async () => {
        attempts[at]?.fail();
        await Promise.resolve();
      }),
  };
}

beforeEach(() => {
  attempts = [];
  vi.clearAllMocks();
});

it("takes back what could not be stored, and shows why", async () => {
  const shown = show();
  shown.change({ notifications: false });
  expect(shown.now().notifications).toBe(false);
  await shown.failed(0);
  expect(shown.now()).toEqual(defaultPreferences);
  expect(showError).toHaveBeenCalledExactlyOnceWith(full);
});

it("goes back to what was stored last, not to the first preferences", async () => {
  const shown = show();
  shown.change({ theme: "dark" });
  await shown.stored(0);
  shown.change({ notifications: false });
  await shown.failed(1);
  expect(shown.now()).toEqual({ ...defaultPreferences, theme: "dark" });
});

it("leaves a change alone that was made after the one that failed", async () => {
  const shown = show();
  shown.change({ theme: "dark" });
  shown.change({ notifications: false });
  await shown.failed(0);
  await shown.stored(1);
  expect(shown.now()).toEqual({ ...defaultPreferences, theme: "dark", notifications: false });
});

it("shows what was stored after a later change had failed", async () => {
  const shown = show();
  shown.change({ theme: "dark" });
  shown.change({ notifications: false });
  await shown.failed(1);
  await shown.stored(0);
  expect(shown.now()).toEqual({ ...defaultPreferences, theme: "dark" });
});
