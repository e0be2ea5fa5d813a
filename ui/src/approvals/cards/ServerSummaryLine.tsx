import clsx from "clsx";
import type { ReactNode } from "react";

import type { ServerSummary } from "../../generated/types";
import { ServerIcon } from "../../components/ServerIcon";
import cardStyles from "../Card.module.css";
import styles from "./ServerSummaryLine.module.css";

/** Which server it is about, and what that one is for. */
export function ServerSummaryLine({ server, children }: { server: ServerSummary; children: ReactNode }) {
  return (
    <div className={styles.server}>
      <ServerIcon name={server.icon} size={16} /> {children}
      {server.description !== null && (
        <span className={clsx(cardStyles.small, styles.description)}>{server.description}</span>
      )}
    </div>
  );
}
