import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense } from "react";

import { usePageState } from "../core/pageState";
import { useNames, type Names } from "../core/useNames";
import { useStatistics, utcOffset } from "../core/useStatistics";
import type { CallStatistics, StatisticsGroup } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { useNow } from "../components/useNow";
import {
  chartOf,
  OTHERS,
  outcomeKeys,
  queryOf,
  ranges,
  totalOf,
  type CallChart,
  type OverviewRange,
} from "./chartData";
import { ToolTable } from "./ToolTable";
import styles from "./OverviewPage.module.css";

const CallsBarChart = lazy(() => import("./CallsBarChart"));

const rangeNames = Object.keys(ranges) as OverviewRange[];
const groups: readonly StatisticsGroup[] = ["all", "client", "server"];
const outcomeColors = {
  ok: "var(--gh-ok)",
  errors: "var(--gh-bad)",
  denied: "var(--gh-wait)",
  unfinished: "var(--gh-off)",
} as const;

/** Calls over time as a chart and a table, and the tools that are used most and take longest. */
export function CallsChart() {
  const t = useMessages();
  const names = useNames();
  const [range, setRange] = usePageState<OverviewRange>("overview.range", "day");
  const [group, setGroup] = usePageState<StatisticsGroup>("overview.group", "all");
  const now = useNow(30_000);
  const query = queryOf(range, group, { now, utcOffset: utcOffset() });
  const { data, error, loading } = useStatistics(query);
  const chart = chartOf(query, data?.points ?? [], now);
  const timeOf = timeFormat(t.language, range);
  const seriesOf = (key: string, at: number) => ({
    label: seriesLabel(t, names, { key, group }),
    color: colorOf(key, at),
  });
  return (
    <section className={styles.section} aria-labelledby="overview-calls">
      <header className={styles.head}>
        <h2 id="overview-calls">{t("overview.calls")}</h2>
        <SegmentedControl
          size="xs"
          aria-label={t("overview.group")}
          data={groups.map((value) => ({ value, label: t(`overview.group.${value}`) }))}
          value={group}
          onChange={setGroup}
        />
        <SegmentedControl
          size="xs"
          aria-label={t("activity.range")}
          data={rangeNames.map((value) => ({ value, label: t(`activity.range.${value}`) }))}
          value={range}
          onChange={setRange}
        />
      </header>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data && <Totals data={data} />}
      {data && totalOf(data.totals) > 0 && (
        <>
          <div role="img" aria-label={t("overview.chart", { calls: totalOf(data.totals) })} className={styles.chart}>
            <Suspense fallback={<LoadingIndicator />}>
              <CallsBarChart chart={chart} seriesOf={seriesOf} timeOf={timeOf} />
            </Suspense>
          </div>
          <ChartTable chart={chart} labelOf={(key) => seriesOf(key, 0).label} timeOf={timeOf} />
          <div className={styles.columns}>
            <ToolTable title={t("overview.mostUsed")} tools={data.mostUsed} by="calls" />
            <ToolTable title={t("overview.slowest")} tools={data.slowest} by="time" />
          </div>
        </>
      )}
    </section>
  );
}

function Totals({ data: { totals } }: { data: CallStatistics }) {
  const t = useMessages();
  const all = totalOf(totals);
  if (all === 0) return <p className="dim">{t("overview.noCalls")}</p>;
  return (
    <p className={styles.totals}>
      {t("overview.totals", { calls: all, errors: totals.errors, denied: totals.denied })}
    </p>
  );
}

type TableProps = { chart: CallChart; labelOf: (key: string) => string; timeOf: (at: number) => string };

/** The chart in numbers: the intervals with calls. */
function ChartTable({ chart: { rows, keys }, labelOf, timeOf }: TableProps) {
  const t = useMessages();
  const shown = rows.filter(({ values }) => Object.values(values).some((value) => value > 0));
  return (
    <details className={styles.details}>
      <summary>{t("overview.asTable")}</summary>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label={t("overview.asTable")}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">{t("activity.time")}</th>
              {keys.map((key) => (
                <th key={key} scope="col">
                  {labelOf(key)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ at, values }) => (
              <tr key={at}>
                <th scope="row">{timeOf(at)}</th>
                {keys.map((key) => (
                  <td key={key}>{values[key]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function seriesLabel(t: Translate, names: Names, { key, group }: { key: string; group: StatisticsGroup }): string {
  const outcome = outcomeKeys.find((one) => one === key);
  if (group === "all" && outcome) return t(`activity.outcomeClass.${outcome === "errors" ? "error" : outcome}`);
  if (key === OTHERS) return t("overview.others");
  return group === "client" ? names.client(key) : names.server(key);
}

function colorOf(key: string, at: number): string {
  const outcome = outcomeKeys.find((one) => one === key);
  if (outcome) return outcomeColors[outcome];
  return key === OTHERS ? "var(--gh-off)" : `var(--gh-chart-${String((at % 6) + 1)})`;
}

function timeFormat(language: string, range: OverviewRange): (at: number) => string {
  const format =
    range === "day"
      ? new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hour12: false })
      : new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
  return (at) => format.format(at);
}
