import type { CallRecord } from "../generated/types";
import { useMessages } from "../messages";
import { MessageText } from "../results/MessageText";
import { hasReachedServer, recordedMessages } from "./recordedMessages";
import styles from "./CallDetails.module.css";

/** The messages of a call, folded; what is missing where its server's arguments and results aren't stored. */
export function RecordedMessages({ record }: { record: CallRecord }) {
  const t = useMessages();
  if (record.arguments === null && record.result === null) {
    return (
      <section>
        <h3>{t("activity.messagesOff")}</h3>
        <p className="dim">
          {t("activity.messagesOffText", { setting: t("servers.form.recordBodies"), server: record.serverName })}
        </p>
      </section>
    );
  }
  const messages = recordedMessages(record);
  return (
    <details className={styles.messages}>
      <summary>{t("activity.messages", { count: messages.length })}</summary>
      {!hasReachedServer(record) && <p>{t("activity.nothingSent")}</p>}
      <p className="dim">{t("activity.messagesText")}</p>
      {messages.map(({ kind, text }) => (
        <MessageText key={kind} kind={kind} text={text} />
      ))}
    </details>
  );
}
