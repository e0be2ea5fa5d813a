import type { CallRecord } from "../generated/types";
import { useMessages } from "../messages";
import { MessageText } from "../results/MessageText";
import { recordedMessages } from "./recordedMessages";
import styles from "./CallDetails.module.css";

/** The messages of a call, folded. */
export function RecordedMessages({ record }: { record: CallRecord }) {
  const t = useMessages();
  const messages = recordedMessages(record);
  return (
    <details className={styles.messages}>
      <summary>{t("activity.messages", { count: messages.length })}</summary>
      <p className="dim">{t("activity.messagesText")}</p>
      {messages.map(({ sent, text }) => (
        <MessageText key={String(sent)} sent={sent} text={text} />
      ))}
    </details>
  );
}
