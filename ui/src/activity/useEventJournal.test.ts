import { act, renderHook } from "@testing-library/react";
import { createElement, type ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { CoreProvider } from "../core/CoreProvider";
import type { Event, EventEnvelope } from "../generated/types";
import { toUserError, type Platform } from "../platform";
import { useEventJournal } from "./useEventJournal";

const envelope = (seq: number, event: Event = { event: "switch_changed", on: true }): EventEnvelope => ({
  version: 1,
  seq,
  at: seq,
  event,
});

const list = vi.fn<() => Promise<EventEnvelope[]>>();

function show() {
  let tell: (heard: EventEnvelope | null) => void = () => undefined;
  const platform = {
    command: list,
    events: (heard: typeof tell) => {
      tell = heard;
      return () => undefined;
    },
  } as unknown as Platform;
  let renders = 0;
  const { result } = renderHook(
    () => {
      renders += 1;
      return useEventJournal();
    },
    { wrapper: ({ children }: { children: ReactNode }) => createElement(CoreProvider, { platform, children }) },
  );
  return {
    renders: () => renders,
    error: () => result.current.error,
    seqs: () => result.current.events?.map(({ seq }) => seq),
    tell: (...heard: (EventEnvelope | null)[]) => {
      act(() => {
        heard.forEach(tell);
      });
    },
    pass: (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms)),
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  list.mockReset();
});

afterEach(() => {
  vi.useRealTimers();
});

it("knows no events before the first reply, and loses none that came before it", async () => {
  let reply: (events: EventEnvelope[]) => void = () => undefined;
  list.mockReturnValue(new Promise((resolve) => (reply = resolve)));
  const journal = show();
  journal.tell(envelope(2), envelope(3));
  await journal.pass(100);
  expect(journal.seqs()).toBeUndefined();
  reply([envelope(1), envelope(2)]);
  await journal.pass(0);
  expect(journal.seqs()).toEqual([1, 2, 3]);
});

it("shows events that come together at once", async () => {
  list.mockResolvedValue([]);
  const journal = show();
  await journal.pass(0);
  const before = journal.renders();
  for (let seq = 1; seq <= 200; seq += 1) journal.tell(envelope(seq));
  expect(journal.seqs()).toEqual([]);
  await journal.pass(60);
  expect(journal.seqs()).toHaveLength(200);
  expect(journal.renders() - before).toBe(1);
});

it("leaves out events that come too often", async () => {
  list.mockResolvedValue([]);
  const journal = show();
  await journal.pass(0);
  journal.tell(envelope(1), envelope(2, { event: "conversation_changed", conversation: "c" }));
  await journal.pass(60);
  expect(journal.seqs()).toEqual([1]);
});

it("keeps the newest 5,000", async () => {
  list.mockResolvedValue(Array.from({ length: 4999 }, (_, at) => envelope(at + 1)));
  const journal = show();
  await journal.pass(0);
  journal.tell(envelope(5000), envelope(5001));
  await journal.pass(60);
  expect(journal.seqs()).toHaveLength(5000);
  expect(journal.seqs()?.[0]).toBe(2);
  expect(journal.seqs()?.at(-1)).toBe(5001);
});

it("reads again what it missed", async () => {
  list.mockResolvedValueOnce([envelope(1)]);
  const journal = show();
  await journal.pass(0);
  list.mockResolvedValueOnce([envelope(1), envelope(2), envelope(3)]);
  journal.tell(null, envelope(4));
  await journal.pass(60);
  expect(journal.seqs()).toEqual([1, 2, 3, 4]);
});

it("says why it can't be read", async () => {
  list.mockRejectedValue(toUserError("no core"));
  const journal = show();
  await journal.pass(0);
  expect(journal.seqs()).toBeUndefined();
  expect(journal.error()).toEqual(toUserError("no core"));
});
