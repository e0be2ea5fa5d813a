import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";

import { useMessages } from "../messages";
import { pendingIn, type ApprovalQueue } from "./queue";
import cardStyles from "./Card.module.css";
import styles from "./QueuePosition.module.css";

/** "1 of 3", with buttons for the previous and next request. */
export function QueuePosition({ queue, onMove }: { queue: ApprovalQueue; onMove: (by: 1 | -1) => void }) {
  const t = useMessages();
  const left = pendingIn(queue);
  const shown = queue.slots[queue.at];
  if (left.length === 0 || (left.length === 1 && shown?.end === null)) return null;
  const at = shown?.end === null ? left.findIndex(({ id }) => id === shown.pending.id) + 1 : null;
  return (
    <nav className={styles.position}>
      <button
        type="button"
        className={cardStyles.iconButton}
        aria-label={t("ask.previous")}
        onClick={() => {
          onMove(-1);
        }}
      >
        <IconChevronLeft size={16} aria-hidden />
      </button>
      <span role="status">
        {at === null ? t("ask.more", { count: left.length }) : t("ask.place", { at, count: left.length })}
      </span>
      <button
        type="button"
        className={cardStyles.iconButton}
        aria-label={t("ask.next")}
        onClick={() => {
          onMove(1);
        }}
      >
        <IconChevronRight size={16} aria-hidden />
      </button>
    </nav>
  );
}
