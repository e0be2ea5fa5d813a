import { describe, expect, it } from "vitest";

import type { StatisticsPoint } from "../generated/types";
import { callsPerInterval, linePoints } from "./sparkline";

const point = (at: number, ok: number, errors = 0): StatisticsPoint => ({
  at,
  of: null,
  counts: { ok, errors, denied: 0, unfinished: 0 },
});

describe("calls over time", () => {
  it("fills intervals without calls, and leaves out what is beyond", () => {
    const points = [point(50, 9), point(100, 1), point(120, 2, 3), point(140, 9)];
    expect(callsPerInterval(points, { since: 100, interval: 10, count: 4 })).toEqual([1, 0, 5, 0]);
  });

  it.each([
    [[0, 0, 0], "0,20 50,20 100,20"],
    [[0, 1, 2], "0,20 50,10 100,0"],
    [[3], "0,0"],
    [[], ""],
  ])("of %j are the line %s", (values, line) => {
    expect(linePoints(values, 100, 20)).toBe(line);
  });
});
