import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";

import { useMessages } from "../messages";
import { waiting, type Queue } from "./queue";

/** Which of how many this is, and the way to the others. */
export function Place({ queue, onMove }: { queue: Queue; onMove: (by: 1 | -1) => void }) {
  const t = useMessages();
  const left = waiting(queue);
  const shown = queue.slots[queue.at];
  if (left.length === 0 || (left.length === 1 && shown?.end === null)) return null;
  const at = shown?.end === null ? left.findIndex(({ id }) => id === shown.pending.id) + 1 : null;
  return (
    <nav className="ask-place">
      <button type="button" className="ask-arrow" aria-label={t("ask.previous")} onClick={() => { onMove(-1); }}>
        <IconChevronLeft size={16} aria-hidden />
      </button>
      <span role="status">{at === null ? t("ask.more", { count: left.length }) : t("ask.place", { at, count: left.length })}</span>
      <button type="button" className="ask-arrow" aria-label={t("ask.next")} onClick={() => { onMove(1); }}>
        <IconChevronRight size={16} aria-hidden />
      </button>
    </nav>
  );
}
