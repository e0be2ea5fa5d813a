// @vitest-environment happy-dom
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { keepPageState, pageStateOf, restorePageState, usePageState } from "./pageState";

const first = { text: "", count: 0 };
const told = vi.fn<(name: string, value: string | null) => Promise<void>>();

beforeEach(async () => {
  vi.useFakeTimers();
  told.mockReset().mockResolvedValue(undefined);
  await restorePageState({
    pageState: () => Promise.resolve({ broken: '{"text":', left: '{"text":"before","count":1}' }),
    setPageState: told,
  });
});

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it("begins with what the page before left", () => {
  expect(pageStateOf("left", first)).toEqual({ text: "before", count: 1 });
  expect(pageStateOf("nothing", first)).toBe(first);
});

it("begins without a value that cannot be read, and with all others", () => {
  expect(pageStateOf("broken", first)).toBe(first);
  expect(pageStateOf("left", first)).not.toBe(first);
});

it("outlives its component, and tells the shell the last of several changes", () => {
  const { result, unmount } = renderHook(() => usePageState("filter", first));
  expect(result.current[0]).toBe(first);
  act(() => {
    result.current[1]({ text: "a", count: 1 });
  });
  act(() => {
    result.current[1]({ text: "ab", count: 2 });
  });
  unmount();
  expect(told).not.toHaveBeenCalled();
  vi.runAllTimers();
  expect(told.mock.calls).toEqual([["filter", '{"text":"ab","count":2}']]);

  const again = renderHook(() => usePageState("filter", first));
  expect(again.result.current[0]).toEqual({ text: "ab", count: 2 });
});

it("begins with what it is given, and keeps that in place of what was left", () => {
  const given = { text: "given", count: 2 };
  const { result } = renderHook(() => usePageState("left", first, given));
  expect(result.current[0]).toBe(given);
  expect(pageStateOf("left", first)).toBe(given);
});

it("tells the shell at once when the page ends", () => {
  keepPageState("draft", "half a");
  window.dispatchEvent(new Event("pagehide"));
  expect(told.mock.calls).toEqual([["draft", '"half a"']]);
  vi.runAllTimers();
  expect(told).toHaveBeenCalledTimes(1);
});

it("removes what is as it was at first, and says nothing of what did not change", () => {
  keepPageState("kind", "calls");
  keepPageState("kind", "calls");
  vi.runAllTimers();
  keepPageState("kind", undefined);
  keepPageState("never", undefined);
  vi.runAllTimers();
  expect(told.mock.calls).toEqual([
    ["kind", '"calls"'],
    ["kind", null],
  ]);
});
