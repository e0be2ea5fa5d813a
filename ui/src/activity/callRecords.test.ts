import { describe, expect, it } from "vitest";

import type { EventEnvelope, Event, RunningCall } from "../generated/types";
import { partDone, runningAfter } from "./callRecords";

const running = (call: string, progress: RunningCall["progress"] = null): RunningCall => ({ call, at: 0, client: "c", server: "s", tool: "t", sent: false, progress });
const heard = (event: Event): EventEnvelope => ({ version: 1, seq: 1, at: 5, event });

describe("calls that run", () => {
  it("take in their progress, and go when they end", () => {
    const begun = [running("a"), running("b")];
    const moved = runningAfter(begun, heard({ event: "call_progress", call: "b", progress: 3, total: 10, message: "three" }));
    expect(moved[0]).toBe(begun[0]);
    expect(moved[1]).toMatchObject({ sent: true, progress: { progress: 3, total: 10, message: "three" } });
    const finished = { event: "call_finished", call: "a", verdict: { decision: "allow", rule: { rule: "by_user" } }, outcome: { outcome: "ok" }, durationMs: 1 } as const;
    expect(runningAfter(moved, heard(finished)).map(({ call }) => call)).toEqual(["b"]);
    expect(runningAfter(moved, heard({ event: "call_progress", call: "gone", progress: 1, total: null, message: null }))).toEqual(moved);
  });

  it.each([
    [null, null],
    [{ progress: 3, total: null, message: null }, null],
    [{ progress: 3, total: 0, message: null }, null],
    [{ progress: 3, total: 4, message: null }, 0.75],
    [{ progress: 9, total: 4, message: null }, 1],
    [{ progress: -1, total: 4, message: null }, 0],
  ])("%j are done to %j", (progress, part) => {
    expect(partDone(running("a", progress))).toBe(part);
  });
});
