// @vitest-environment happy-dom
import { act, renderHook } from "@testing-library/react";
import { expect, it } from "vitest";

import { keepPageState, pageStateOf } from "./pageState";
import { useKeptDialog } from "./useKeptDialog";

it("is open again with what was entered, until it is closed", () => {
  const { result, unmount } = renderHook(() => useKeptDialog("profiles.editor"));
  expect(result.current).toMatchObject({ opened: false, id: null });
  act(() => {
    result.current.open("p-1");
  });
  keepPageState(result.current.formName, { name: "Work" });
  unmount();

  const { result: next } = renderHook(() => useKeptDialog("profiles.editor"));
  expect(next.current).toMatchObject({ opened: true, id: "p-1" });
  expect(pageStateOf(next.current.formName, null)).toEqual({ name: "Work" });
  act(() => {
    next.current.close();
  });
  expect(next.current).toMatchObject({ opened: false, id: "p-1" });
  expect(pageStateOf(next.current.formName, null)).toBeNull();
});

it("opens something else with nothing of what was entered before", () => {
  const { result } = renderHook(() => useKeptDialog("models.editor"));
  act(() => {
    result.current.open("p-1");
  });
  keepPageState(result.current.formName, { name: "Work" });
  act(() => {
    result.current.open("p-2");
  });
  expect(pageStateOf(result.current.formName, null)).toBeNull();
});
