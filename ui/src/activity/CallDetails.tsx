import type { ReactNode } from "react";

import { OWN_CLIENT, recordedClientName } from "../core/useNames";
import type { CallRecord } from "../generated/types";
import { useMessages, useTimes, type Translate } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { formatJson } from "../results/contentText";
import { durationLabel } from "../messages/duration";
import { HowDecided } from "./HowDecided";
import { outcomeLabel, ruleLabel } from "./labels";
import { hasReachedServer } from "./recordedMessages";
import { RecordedMessages } from "./RecordedMessages";
import { RepeatCall } from "./RepeatCall";
import styles from "./CallDetails.module.css";

/** The full record of one call. */
export function CallDetails({ record }: { record: CallRecord }) {
  const t = useMessages();
  const { full } = useTimes();
  const { verdict, outcome } = record;
  const failed = why(t, record);
  const client = recordedClientName(t, record);
  const isForClient = record.byUser && record.client !== OWN_CLIENT;
  const facts: [string, ReactNode][] = [
    [t("activity.time"), full(record.at)],
    [t("activity.client"), isForClient ? t("activity.byYou", { client }) : client],
    [t("activity.server"), record.serverName],
    [t("activity.exposed"), <code key="name">{record.exposedName}</code>],
    [t("activity.verdict"), t(`activity.verdict.${verdict.decision}`)],
    [t("activity.decided"), ruleLabel(t, verdict.rule)],
    [
      t("activity.result"),
      failed === null || failed === ""
        ? outcomeLabel(t, outcome)
        : t("activity.failed", { outcome: outcomeLabel(t, outcome), reason: failed }),
    ],
    [t("activity.ran"), durationLabel(t, record.durationMs - record.waitedMs)],
    [t("activity.waited"), durationLabel(t, record.waitedMs)],
    [t("activity.total"), durationLabel(t, record.durationMs)],
    [t("activity.size"), t("activity.bytes", { in: record.bytesIn, out: record.bytesOut })],
  ];
  return (
    <div className="selectable">
      <dl className={styles.facts}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <RepeatCall key={record.id} record={record} />
      <HowDecided record={record} />
      <Body title={t("activity.arguments")} text={record.arguments} copy={t("activity.copyArguments")} />
      <Body title={t("activity.body")} text={record.result} copy={t("activity.copyResult")} />
      <RecordedMessages record={record} />
    </div>
  );
}

function Body({ title, text, copy }: { title: string; text: string | null; copy: string }) {
  const t = useMessages();
  return (
    <section className={styles.body}>
      <header>
        <h3>{title}</h3>
        {text !== null && <CopyButton text={text} label={copy} />}
      </header>
      {text === null ? (
        <p className="dim">{t("activity.notKept")}</p>
      ) : (
        <pre className="mono" tabIndex={0}>
          {formatJson(text)}
        </pre>
      )}
    </section>
  );
}

/** What more is known of an end that was not as it should be; empty where it is not stored. */
function why(t: Translate, record: CallRecord): string | null {
  const { outcome } = record;
  switch (outcome.outcome) {
    case "failed":
    case "rpc_error":
      return outcome.message;
    case "unfit":
      return outcome.problem;
    case "cancelled":
      return t(hasReachedServer(record) ? "activity.partlyDone" : "activity.nothingSent");
    case "ok":
    case "tool_error":
    case "refused":
    case "still_waiting":
    case "repeated":
      return null;
  }
}
