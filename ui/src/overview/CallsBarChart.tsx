// The legend has swatches.
import "@mantine/core/styles/ColorSwatch.layer.css";
import "@mantine/charts/styles.layer.css";

import { BarChart } from "@mantine/charts";

import type { CallChart } from "./chartData";

type Props = {
  chart: CallChart;
  /** What a series is called, and its colour. */
  seriesOf: (key: string, at: number) => { label: string; color: string };
  timeOf: (at: number) => string;
};

/**
 * Bars of calls over time. Loaded when it is shown, since the chart library is large. It is a picture: what it says
 * stands in a table beside it.
 */
export default function CallsBarChart({ chart: { rows, keys }, seriesOf, timeOf }: Props) {
  return (
    <BarChart
      h={220}
      data={rows.map(({ at, values }) => ({ ...values, time: timeOf(at) }))}
      dataKey="time"
      type="stacked"
      series={keys.map((key, at) => ({ name: key, ...seriesOf(key, at) }))}
      withLegend
      accessibilityLayer={false}
      yAxisProps={{ allowDecimals: false, width: 40 }}
    />
  );
}
