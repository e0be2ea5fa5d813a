import { IconAlertCircle, IconCircleCheck, IconCircleDashed, IconPlayerStop } from "@tabler/icons-react";

import type { ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { statusLine, statusTone } from "./status";

const icons = { ok: IconCircleCheck, wait: IconCircleDashed, bad: IconAlertCircle, off: IconPlayerStop };

/** The state as icon, word and colour. */
export function StatusMark({ view }: { view: ServerView }) {
  const t = useMessages();
  const tone = statusTone(view.status);
  const Icon = icons[tone];
  return (
    <span className={`status status-${tone}`}>
      <Icon size={16} aria-hidden />
      <span className="selectable">{statusLine(t, view)}</span>
    </span>
  );
}
