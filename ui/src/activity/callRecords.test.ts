import { describe, expect, it } from "vitest";

import type { CallRecord, EventEnvelope, Event, RunningCall } from "../generated/types";
import { applyCallEvent, mergeRecords, progressFraction } from "./callRecords";

/** Records with these ids. */
const records = (...ids: string[]) => ids.map((id) => ({ id }) as CallRecord);
const ids = (list: readonly CallRecord[]) => list.map(({ id }) => id).join(" ");

describe("call records", () => {
  it.each([
    ["the first page", "b a", "", "b a"],
    ["calls that ended", "e d c", "c b a", "e d c b a"],
    ["a call that began earlier than others and ended later", "d c b", "d b a", "d c b a"],
    ["none", "", "b a", "b a"],
    ["a full page of calls", "f e d c", "c b a", "f e d c b a"],
  ])("are merged with %s", (_, newest, before, merged) => {
    const list = (text: string) => records(...text.split(" ").filter(Boolean));
    expect(ids(mergeRecords(list(newest), list(before), 4) ?? [])).toBe(merged);
  });

  it("are not merged with a page that may leave a gap", () => {
    expect(mergeRecords(records("f", "e", "d"), records("b", "a"), 3)).toBeNull();
    expect(mergeRecords(records("f", "e"), records("d", "c"), 3)).toHaveLength(4);
  });

  it("stay the same when a page is read again", () => {
    const before = records("d", "c", "b", "a");
    expect(mergeRecords(records("d", "c"), before, 2)).toBe(before);
    expect(mergeRecords(records("e", "d"), before, 2)?.[1]).toBe(before[0]);
  });
});

const running = (call: string, progress: RunningCall["progress"] = null): RunningCall => ({
  call,
  at: 0,
  client: "c",
  server: "s",
  tool: "t",
  sent: false,
  progress,
  task: null,
  run: null,
});
const heard = (event: Event): EventEnvelope => ({ version: 1, seq: 1, at: 5, event });

describe("running calls", () => {
  it("take progress updates and disappear when they end", () => {
    const begun = [running("a"), running("b")];
    const moved = applyCallEvent(
      begun,
      heard({ event: "call_progress", call: "b", progress: 3, total: 10, message: "three" }),
    );
    expect(moved[0]).toBe(begun[0]);
    expect(moved[1]).toMatchObject({ sent: true, progress: { progress: 3, total: 10, message: "three" } });
    const finished = {
      event: "call_finished",
      call: "a",
      verdict: { decision: "allow", rule: { rule: "by_user" } },
      outcome: { outcome: "ok" },
      durationMs: 1,
    } as const;
    expect(applyCallEvent(moved, heard(finished)).map(({ call }) => call)).toEqual(["b"]);
    expect(
      applyCallEvent(moved, heard({ event: "call_progress", call: "gone", progress: 1, total: null, message: null })),
    ).toEqual(moved);
  });

  it.each([
    [null, null],
    [{ progress: 3, total: null, message: null }, null],
    [{ progress: 3, total: 0, message: null }, null],
    [{ progress: 3, total: 4, message: null }, 0.75],
    [{ progress: 9, total: 4, message: null }, 1],
    [{ progress: -1, total: 4, message: null }, 0],
  ])("report the progress of %j as %j", (progress, part) => {
    expect(progressFraction(running("a", progress))).toBe(part);
  });
});
