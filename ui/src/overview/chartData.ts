// What a chart of calls over time shows. Pure.

import type {
  CallCounts,
  CallStatisticsQuery,
  StatisticsGroup,
  StatisticsInterval,
  StatisticsPoint,
} from "../generated/types";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const lengths: Record<StatisticsInterval, number> = { minute: 60_000, hour: HOUR, day: DAY };

/** The ranges of the overview. */
export const ranges = {
  day: { length: DAY, interval: "hour" },
  week: { length: 7 * DAY, interval: "day" },
  month: { length: 30 * DAY, interval: "day" },
} as const satisfies Record<string, { length: number; interval: StatisticsInterval }>;

export type OverviewRange = keyof typeof ranges;

/** Most clients or servers that are drawn one by one; the others are one series. */
const MAX_SERIES = 6;

/** Key of the series of all others. */
export const OTHERS = "others";

export const outcomeKeys = ["ok", "errors", "denied", "unfinished"] as const satisfies readonly (keyof CallCounts)[];

/** The calls of one interval, by series. */
type ChartRow = { at: number; values: Readonly<Record<string, number>> };

/** The rows of a chart and the keys of its series, most calls first where they are clients or servers. */
export type CallChart = { rows: readonly ChartRow[]; keys: readonly string[] };

export const totalOf = ({ ok, errors, denied, unfinished }: CallCounts): number => ok + errors + denied + unfinished;

/** The query for a range that ends now. It stays the same for as long as the interval does. */
export function queryOf(
  range: OverviewRange,
  group: StatisticsGroup,
  { now, utcOffset }: { now: number; utcOffset: number },
): CallStatisticsQuery {
  const { length, interval } = ranges[range];
  const current = beginOf(now, interval, utcOffset);
  const since = current - length + lengths[interval];
  return { since, until: null, interval, group, client: null, server: null, utcOffset };
}

/** The beginning of the interval that a moment is in, as the core counts: days begin in whole hours. */
function beginOf(at: number, interval: StatisticsInterval, utcOffset: number): number {
  const length = lengths[interval];
  const offset = interval === "day" ? Math.trunc(utcOffset / 60) * HOUR : 0;
  return Math.floor((at + offset) / length) * length - offset;
}

/** All intervals of a query, also those without calls. */
export function chartOf(query: CallStatisticsQuery, points: readonly StatisticsPoint[], now: number): CallChart {
  const step = lengths[query.interval];
  const keys = query.group === "all" ? outcomeKeys : groupKeys(points);
  const known = new Set<string>(keys);
  const rows = new Map<number, Record<string, number>>();
  for (let at = query.since; at <= now; at += step) rows.set(at, Object.fromEntries(keys.map((key) => [key, 0])));
  for (const { at, of, counts } of points) {
    const row = rows.get(at);
    if (!row) continue;
    if (query.group === "all") {
      for (const key of outcomeKeys) row[key] = (row[key] ?? 0) + counts[key];
    } else {
      const key = of !== null && known.has(of) ? of : OTHERS;
      row[key] = (row[key] ?? 0) + totalOf(counts);
    }
  }
  return { keys, rows: [...rows].map(([at, values]) => ({ at, values })) };
}

/** The clients or servers with the most calls, and the others where there are more. */
function groupKeys(points: readonly StatisticsPoint[]): readonly string[] {
  const totals = new Map<string, number>();
  for (const { of, counts } of points) {
    if (of !== null) totals.set(of, (totals.get(of) ?? 0) + totalOf(counts));
  }
  const sorted = [...totals].sort(([a, one], [b, other]) => other - one || a.localeCompare(b)).map(([key]) => key);
  return sorted.length > MAX_SERIES ? [...sorted.slice(0, MAX_SERIES - 1), OTHERS] : sorted;
}
