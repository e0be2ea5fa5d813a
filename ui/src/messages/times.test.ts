import { renderHook } from "@testing-library/react";
import { createElement, type ReactNode } from "react";
import { expect, it } from "vitest";

import { SpeechContext, useTimes } from ".";
import { catalogues } from "./catalogues";

const speech = { language: "en", messages: catalogues.en } as const;
const wrapper = ({ children }: { children: ReactNode }) => createElement(SpeechContext, { value: speech }, children);
const { ago, fromNow } = renderHook(() => useTimes(), { wrapper }).result.current;

it.each([
  [-120_000, "2 minutes ago", "2 minutes ago"],
  [-1000, "1 second ago", "1 second ago"],
  // Newer than the page's clock.
  [1000, "now", "in 1 second"],
  [7_200_000, "now", "in 2 hours"],
])("says %j ms from now as %s, or as %s", (ms, past, either) => {
  expect([ago(ms, 0), fromNow(ms, 0)]).toEqual([past, either]);
});
