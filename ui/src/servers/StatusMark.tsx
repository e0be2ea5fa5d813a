import { IconAlertCircle, IconCircleCheck, IconCircleDashed, IconPlayerStop } from "@tabler/icons-react";

import clsx from "clsx";
import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { statusLine, statusTone } from "./status";
import styles from "./StatusMark.module.css";

const icons = { ok: IconCircleCheck, wait: IconCircleDashed, bad: IconAlertCircle, off: IconPlayerStop };

/** The state as icon, word and colour. */
export function StatusMark({ view }: { view: ServerView }) {
  const t = useMessages();
  const tone = statusTone(view.status);
  const Icon = icons[tone];
  return (
    <span className={clsx(styles.status, styles[tone])}>
      <Icon size={16} aria-hidden />
      <span className="selectable">{statusLine(t, view)}</span>
    </span>
  );
}
