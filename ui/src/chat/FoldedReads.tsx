import { IconCheck, IconChevronRight } from "@tabler/icons-react";
import { useId, useState } from "react";

import type { ToolCallBlock } from "../generated/types";
import { useMessages } from "../messages";
import { isToolSearch, serversOf } from "./segments";
import { ToolCallItem } from "./ToolCallItem";
import callStyles from "./ToolCallItem.module.css";
import styles from "./FoldedReads.module.css";

/** Calls that only read or search for tools, in one line until they are opened. */
export function FoldedReads({ calls }: { calls: readonly ToolCallBlock[] }) {
  const t = useMessages();
  const id = useId();
  const [opened, setOpened] = useState(false);
  const servers = serversOf(calls);
  const searches = calls.filter(isToolSearch).length;
  const reads = calls.length - searches;
  const done = [
    ...(searches > 0 ? [t("chat.searches", { count: searches })] : []),
    ...(reads > 0 ? [t("chat.reads", { count: reads })] : []),
  ];
  return (
    <div className={callStyles.call}>
      <button
        type="button"
        className={callStyles.head}
        aria-expanded={opened}
        aria-controls={id}
        onClick={() => {
          setOpened(!opened);
        }}
      >
        <IconCheck size={16} className={callStyles.done} aria-hidden />
        <span className={callStyles.what}>
          <strong>{done.join(" · ")}</strong>
          {servers.length > 0 && <span className="dim"> · {servers.join(", ")}</span>}
        </span>
        <IconChevronRight size={14} className={callStyles.chevron} aria-hidden />
      </button>
      <div id={id} className={styles.calls}>
        {opened && calls.map((call) => <ToolCallItem key={call.id} call={call} />)}
      </div>
    </div>
  );
}
