import { useNow } from "../components/useNow";
import { useStatistics } from "../core/useStatistics";
import { useMessages } from "../messages";
import { callsPerInterval, linePoints } from "./sparkline";
import styles from "./CallTraffic.module.css";

const MINUTE = 60_000;
const MINUTES = 60;
const WIDTH = 180;
const HEIGHT = 24;

/** The calls of a server in the last hour, by minute. */
export function CallTraffic({ server }: { server: string }) {
  const t = useMessages();
  const now = useNow(5000);
  const since = Math.floor(now / MINUTE) * MINUTE - (MINUTES - 1) * MINUTE;
  const { data } = useStatistics({
    since,
    until: null,
    interval: "minute",
    group: "all",
    client: null,
    server,
    utcOffset: 0,
  });
  if (!data) return null;
  const values = callsPerInterval(data.points, { since, interval: MINUTE, count: MINUTES });
  const count = values.reduce((sum, value) => sum + value, 0);
  const words = t("activity.traffic", { count, errors: data.totals.errors });
  return (
    <p className={styles.traffic}>
      <svg viewBox={`0 -1 ${String(WIDTH)} ${String(HEIGHT + 2)}`} className={styles.line} aria-hidden>
        <polyline points={linePoints(values, WIDTH, HEIGHT)} />
      </svg>
      <span>{words}</span>
      <span className="dim">{t("activity.perMinute", { count: values.at(-1) ?? 0 })}</span>
    </p>
  );
}
