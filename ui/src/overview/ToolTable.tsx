import { useNames } from "../core/useNames";
import type { ToolStatistics } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import { durationLabel } from "../messages/duration";
import { formatRoute } from "../navigation/route";
import { totalOf } from "./chartData";
import styles from "./OverviewPage.module.css";

/** Rows that are shown. */
const SHOWN = 8;

type Props = { title: string; tools: readonly ToolStatistics[]; by: "calls" | "time" };

/** Tools with how often they were called, or with how long they took. */
export function ToolTable({ title, tools, by }: Props) {
  const t = useMessages();
  const names = useNames();
  if (tools.length === 0) return null;
  return (
    <table className={styles.table}>
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">{t("activity.tool")}</th>
          <th scope="col">{by === "calls" ? t("activity.calls") : t("overview.average")}</th>
          <th scope="col">{by === "calls" ? t("activity.outcomeClass.error") : t("overview.longest")}</th>
        </tr>
      </thead>
      <tbody>
        {tools.slice(0, SHOWN).map(({ server, tool, counts, averageMs, slowestMs }) => (
          <tr key={`${server} ${tool}`}>
            <th scope="row">
              <span className="mono">{toolLabel(t, tool)}</span>{" "}
              <a href={formatRoute({ page: "server", id: server, tab: "activity" })} className={styles.server}>
                {names.server(server)}
              </a>
            </th>
            <td>{by === "calls" ? totalOf(counts) : durationLabel(t, averageMs)}</td>
            <td>{by === "calls" ? counts.errors : durationLabel(t, slowestMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What is counted together by kind has no name of its own. */
function toolLabel(t: Translate, tool: string): string {
  switch (tool) {
    case "resource:":
      return t("activity.resources");
    case "completion:":
      return t("overview.completions");
    case "request:":
      return t("overview.requests");
    default:
      return tool;
  }
}
