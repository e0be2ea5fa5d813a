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
  changes: [],
});

const refusal = { code: "timed_out", message: "No answer.", cause: null, hint: null } as const;

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

  it("says why the core could not be asked, until it is asked again or the text is another one", async () => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the core refuses
    let answer = () => Promise.reject<ValidationReport>(refusal);
    const platform = { command: () => answer(), events: () => () => undefined } as unknown as Platform;
    const shown = renderHook(({ text }) => useServerValidation(settings(text)), {
      wrapper: ({ children }: { children: ReactNode }) => <CoreProvider platform={platform}>{children}</CoreProvider>,
      initialProps: { text: "a" },
    });
    await waitFor(() => {
      expect(shown.result.current).toMatchObject({ isCurrent: false, report: null, error: refusal });
    });
    shown.rerender({ text: "b" });
    expect(shown.result.current.error).toBeNull();
    await waitFor(() => {
      expect(shown.result.current.error).toEqual(refusal);
    });
    answer = () => Promise.resolve(report("x"));
    await act(async () => {
      await shown.result.current.validate();
    });
    expect(shown.result.current).toMatchObject({ isCurrent: true, report: report("x"), error: null });
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
