import { describe, expect, it } from "vitest";

import type { Event, EventEnvelope, RunningCall } from "../generated/types";
import { applyCallEvent, progressFraction } from "./runningCalls";

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
