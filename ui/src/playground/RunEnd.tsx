import { ruleLabel } from "../activity/labels";
import { RunProgress } from "../running/RunProgress";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { ResultParts } from "../results/ResultParts";
import type { ToolRun } from "./userRuns";
import styles from "./RunEnd.module.css";

/** What became of a run: its progress, then its result with what decided about it. */
export function RunEnd({ run: { id, end, server, isCancelled } }: { run: ToolRun }) {
  const t = useMessages();
  if (end === "running") {
    return (
      <>
        <p className={styles.line} role="status">
          {t(isCancelled ? "playground.cancelling" : "playground.calling")}
        </p>
        <RunProgress run={id} />
      </>
    );
  }
  if ("error" in end) return <ErrorAlert error={end.error} />;
  const { shown } = end;
  return (
    <>
      {isCancelled && shown.end.end !== "ok" && (
        <p className={styles.line} role="status">
          {t("playground.cancelled")}
        </p>
      )}
      {shown.verdict !== null && shown.verdict.rule.rule !== "by_user" && (
        <p className={styles.line}>{t("playground.decided", { rule: ruleLabel(t, shown.verdict.rule) })}</p>
      )}
      <ResultParts shown={shown} server={server} />
    </>
  );
}
