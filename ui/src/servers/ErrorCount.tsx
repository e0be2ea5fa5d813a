import { IconAlertTriangle } from "@tabler/icons-react";

import { formatRoute } from "../navigation/route";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import styles from "./ErrorCount.module.css";

/** Number of errors in the last hour; nothing if there were none. */
export function ErrorCount({ view: { config, errorsLastHour } }: { view: ServerView }) {
  const t = useMessages();
  if (errorsLastHour === 0) return null;
  const words = t("servers.errors", { count: errorsLastHour });
  return (
    <a className={styles.count} href={formatRoute({ page: "server", id: config.id, tab: "logs" })}>
      <IconAlertTriangle size={15} aria-hidden />
      {words}
    </a>
  );
}
