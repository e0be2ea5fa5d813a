import clsx from "clsx";
import { formatCountdown } from "../messages/countdown";
import type { RunningCall } from "../generated/types";
import { useMessages } from "../messages";
import { useNow } from "../components/useNow";
import { progressFraction } from "./runningCalls";
import styles from "./CallProgress.module.css";

/** Progress of a call: a bar if the total is known, the state of its task, the server's message, and the elapsed time. */
export function CallProgress({ call }: { call: RunningCall }) {
  const t = useMessages();
  const now = useNow(1000);
  const part = progressFraction(call);
  const { progress } = call;
  const took = formatCountdown(now - call.at);
  return (
    <span className={styles.progress}>
      {part !== null && <progress max={1} value={part} aria-label={t("activity.progress", { tool: call.tool })} />}
      {progress?.total != null && (
        <span className={clsx("dim", styles.count)}>
          {t("activity.progress.of", { done: progress.progress, total: progress.total })}
        </span>
      )}
      {call.task !== null && <span className={styles.task}>{t(`activity.task.${call.task}`)}</span>}
      {progress?.message != null && (
        <span className={styles.message} title={progress.message}>
          {progress.message}
        </span>
      )}
      <span className={clsx("dim", styles.elapsed)}>
        {call.sent ? t("activity.elapsed", { took }) : t("activity.waitsForYou")}
      </span>
    </span>
  );
}
