import type { ReactNode } from "react";

import { useMessages } from "../messages";
import styles from "./MarkedText.module.css";

/** A text with hidden characters rendered as marks. */
export function MarkedText({ text }: { text: string }): ReactNode {
  const t = useMessages();
  const parts = text.split(/(⟦U\+[0-9A-F]{4,6}⟧)/);
  if (parts.length === 1) return text;
  return parts.map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <mark key={at} className={styles.mark} title={t("ask.hiddenMark", { code: part.slice(1, -1) })}>
        {part.slice(1, -1)}
      </mark>
    ),
  );
}
