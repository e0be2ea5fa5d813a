import type { ReactNode } from "react";
import styles from "./Notice.module.css";

type Props = { icon: ReactNode; text: string; children?: ReactNode };

/** A strip across the top of every page, with actions on its right. */
export function Notice({ icon, text, children }: Props) {
  return (
    <div className={styles.notice} role="status">
      {icon}
      <span className={styles.text}>{text}</span>
      {children}
    </div>
  );
}
