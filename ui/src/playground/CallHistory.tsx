import { SegmentedControl } from "@mantine/core";
import { IconRotate } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { outcomeLabel, subjectName } from "../activity/labels";
import { everyCall } from "../core/callFilter";
import { useCoreQuery } from "../core/useCoreQuery";
import { OWN_CLIENT } from "../core/useNames";
import type { CallRecord } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { durationLabel } from "../messages/duration";
import { formatRoute } from "../navigation/route";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { VirtualList } from "../components/VirtualList";
import { itemKey } from "./items";
import { triedItem } from "../activity/recordedArguments";
import styles from "./CallHistory.module.css";

/** Calls that are read. What is only asked on the way, such as completions, counts as well. */
const LIMIT = 500;
const filter = { ...everyCall, byUser: true, limit: LIMIT };
const ROW = 36;

type Props = {
  /** Key of the item whose calls are wanted; of all where absent. */
  of: string | null;
  /** Id of the call that is open. */
  open: string | null;
};

/** What the user has called here, also before the last start, newest first. */
export function CallHistory({ of, open }: Props) {
  const t = useMessages();
  const { data, error, loading } = useCoreQuery("calls.list", { filter });
  const [isAll, setAll] = useState(false);
  const rows = (data ?? []).flatMap((record) => {
    const tried = triedItem(record.subject);
    if (!tried) return [];
    const isWanted = of === null || isAll || itemKey(record.server, tried.kind, tried.item) === of;
    return isWanted ? [{ record, tried }] : [];
  });
  return (
    <section className={styles.history} aria-labelledby="call-history">
      <header>
        <h3 id="call-history">{t("playground.history")}</h3>
        {of !== null && (
          <SegmentedControl
            size="xs"
            aria-labelledby="call-history"
            data={[
              { value: "item", label: t("playground.history.item") },
              { value: "all", label: t("playground.history.all") },
            ]}
            value={isAll ? "all" : "item"}
            onChange={(value) => {
              setAll(value === "all");
            }}
          />
        )}
      </header>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {!loading && !error && rows.length === 0 && <p className="dim">{t("playground.history.none")}</p>}
      {rows.length > 0 && (
        <VirtualList
          role="list"
          label={t("playground.history")}
          className={styles.rows}
          items={rows}
          itemKey={({ record }) => record.id}
          rowHeight={ROW}
        >
          {({ record, tried }) => <Row record={record} tried={tried} isOpen={record.id === open} />}
        </VirtualList>
      )}
    </section>
  );
}

type RowProps = { record: CallRecord; tried: NonNullable<ReturnType<typeof triedItem>>; isOpen: boolean };

function Row({ record, tried, isOpen }: RowProps) {
  const t = useMessages();
  const { time, full } = useTimes();
  const { id, at, server, serverName, client, clientName, subject, outcome, durationMs } = record;
  const as = client === OWN_CLIENT ? undefined : client;
  const item = subjectName(subject);
  const end = outcomeLabel(t, outcome);
  return (
    <a
      className={styles.row}
      href={formatRoute({ page: "playground", server, ...tried, client: as, call: { at, id } })}
      aria-current={isOpen ? "true" : undefined}
      aria-label={t("playground.againOf", { item, time: time(at), outcome: end })}
    >
      <span className="dim" title={full(at)}>
        {time(at)}
      </span>
      <span className={clsx("mono", styles.item)}>{item}</span>
      <span className={clsx("dim", styles.item)}>
        {serverName}
        {as !== undefined && ` · ${t("playground.history.as", { client: clientName })}`}
      </span>
      <span>{end}</span>
      <span className={clsx("dim", styles.took)}>{durationLabel(t, durationMs)}</span>
      <span className={styles.again}>
        <IconRotate size={13} aria-hidden /> {t("playground.again")}
      </span>
    </a>
  );
}
