// A line of calls over time. Pure.

import type { StatisticsPoint } from "../generated/types";

/** The number of calls of each interval from `since` on, also of those without any. */
export function callsPerInterval(
  points: readonly StatisticsPoint[],
  { since, interval, count }: { since: number; interval: number; count: number },
): readonly number[] {
  const totals = new Array<number>(count).fill(0);
  for (const { at, counts } of points) {
    const place = Math.floor((at - since) / interval);
    const { ok, errors, denied, unfinished } = counts;
    if (place >= 0 && place < count) totals[place] = (totals[place] ?? 0) + ok + errors + denied + unfinished;
  }
  return totals;
}

/** The points of a line through values, in a box of this size; flat at the bottom where all are 0. */
export function linePoints(values: readonly number[], width: number, height: number): string {
  const top = Math.max(1, ...values);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values.map((value, at) => `${round(at * step)},${round(height - (value / top) * height)}`).join(" ");
}

const round = (value: number) => String(Math.round(value * 10) / 10);
