import { describe, expect, it } from "vitest";

import type { StatisticsPoint } from "../generated/types";
import { chartOf, OTHERS, queryOf } from "./chartData";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MIDNIGHT = 20_000 * DAY;
const counts = (ok: number, errors = 0) => ({ ok, errors, denied: 0, unfinished: 0 });
const point = (at: number, of: string | null, ok: number, errors = 0): StatisticsPoint => ({
  at,
  of,
  counts: counts(ok, errors),
});

describe("the query of the overview", () => {
  it.each([
    ["day", 0, MIDNIGHT + 90 * 60_000, MIDNIGHT + HOUR - 23 * HOUR],
    ["week", 0, MIDNIGHT + 5 * HOUR, MIDNIGHT - 6 * DAY],
    // Past midnight in the east already.
    ["week", 120, MIDNIGHT - HOUR, MIDNIGHT - 2 * HOUR - 6 * DAY],
    // Not yet in the west; half hours don't count.
    ["month", -330, MIDNIGHT + HOUR, MIDNIGHT - DAY + 5 * HOUR - 29 * DAY],
  ] as const)("of a %s, %d minutes ahead of UTC", (range, utcOffset, now, since) => {
    expect(queryOf(range, "all", { now, utcOffset }).since).toBe(since);
  });

  it("stays the same within an interval", () => {
    const query = (now: number) => queryOf("day", "client", { now, utcOffset: 0 });
    expect(query(MIDNIGHT)).toEqual(query(MIDNIGHT + HOUR - 1));
    expect(query(MIDNIGHT)).not.toEqual(query(MIDNIGHT + HOUR));
  });
});

describe("the chart of the overview", () => {
  it("has every interval, by outcome", () => {
    const query = queryOf("day", "all", { now: MIDNIGHT, utcOffset: 0 });
    const { keys, rows } = chartOf(
      query,
      [point(MIDNIGHT, null, 2, 1), point(MIDNIGHT - 40 * HOUR, null, 9)],
      MIDNIGHT,
    );
    expect(keys).toEqual(["ok", "errors", "denied", "unfinished"]);
    expect(rows).toHaveLength(24);
    expect(rows[0]).toEqual({ at: MIDNIGHT - 23 * HOUR, values: counts(0) });
    expect(rows.at(-1)).toEqual({ at: MIDNIGHT, values: counts(2, 1) });
  });

  it("draws those with the most calls, and the others as one", () => {
    const query = queryOf("week", "client", { now: MIDNIGHT, utcOffset: 0 });
    const many = Array.from({ length: 8 }, (_, at) => point(MIDNIGHT, `c${String(at)}`, at, 1));
    const { keys, rows } = chartOf(query, many, MIDNIGHT);
    expect(keys).toEqual(["c7", "c6", "c5", "c4", "c3", OTHERS]);
    expect(rows.at(-1)?.values).toEqual({ c7: 8, c6: 7, c5: 6, c4: 5, c3: 4, [OTHERS]: 1 + 2 + 3 });
    expect(chartOf(query, many.slice(0, 6), MIDNIGHT).keys).toHaveLength(6);
    expect(chartOf(query, [], MIDNIGHT).keys).toEqual([]);
  });
});
