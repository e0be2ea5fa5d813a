import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { describe, expect, it } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { ServersValidate, ValidationReport } from "../generated/types";
import type { Platform } from "../platform";
import { useServerValidation } from "./useServerValidation";

const settings = (json: string): ServersValidate => ({ server: null, settings: { json }, secrets: [] });
const report = (key: string): ValidationReport => ({
  draft: null,
  problems: [{ pointer: "", message: { key, params: {} }, span: null }],
});

/** A core whose answers are given by hand, in any order. */
function core() {
  const asked = new Map<string, (report: ValidationReport) => void>();
  const platform = {
    command: (_name: string, { settings: input }: ServersValidate) =>
      new Promise<ValidationReport>((resolve) => {
        if ("json" in input) asked.set(input.json, resolve);
      }),
    events: () => () => undefined,
  } as unknown as Platform;
  const wrapper = ({ children }: { children: ReactNode }) => (
    <CoreProvider platform={platform}>{children}</CoreProvider>
  );
  return { asked, wrapper };
}

describe("validation of settings", () => {
  it("asks when typing pauses, and only about the last text", async () => {
    const { asked, wrapper } = core();
    const shown = renderHook(({ text }) => useServerValidation(settings(text)), {
      wrapper,
      initialProps: { text: "a" },
    });
    shown.rerender({ text: "ab" });
    shown.rerender({ text: "abc" });
    await waitFor(() => {
      expect([...asked.keys()]).toEqual(["abc"]);
    });
    expect(shown.result.current.isCurrent).toBe(false);
    await act(async () => {
      asked.get("abc")?.(report("x"));
      await Promise.resolve();
    });
    expect(shown.result.current).toMatchObject({ isCurrent: true, report: report("x") });
    shown.rerender({ text: "abcd" });
    expect(shown.result.current).toMatchObject({ isCurrent: false, report: report("x") });
  });

  it("ignores a late answer about settings that are there no more", async () => {
    const { asked, wrapper } = core();
    const shown = renderHook(({ text }) => useServerValidation(settings(text)), {
      wrapper,
      initialProps: { text: "old" },
    });
    await waitFor(() => {
      expect(asked.has("old")).toBe(true);
    });
    shown.rerender({ text: "new" });
    await waitFor(() => {
      expect(asked.has("new")).toBe(true);
    });
    await act(async () => {
      asked.get("new")?.(report("new"));
      await Promise.resolve();
      asked.get("old")?.(report("old"));
      await Promise.resolve();
    });
    expect(shown.result.current).toMatchObject({ isCurrent: true, report: report("new") });
  });
});
