import { Button } from "@mantine/core";
import clsx from "clsx";
import { useState } from "react";

import { useNames } from "../core/useNames";
import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages, useRender, useTimes } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { auditDetail, auditLabel, namesFromEntries } from "./auditLabels";
import styles from "./AuditEntries.module.css";

/** Entries that each press on the button adds. */
const PAGE = 100;

/** The entries of the audit, newest first. */
export function AuditEntries() {
  const t = useMessages();
  const render = useRender();
  const { time, full, day } = useTimes();
  const known = useNames();
  const [limit, setLimit] = useState(PAGE);
  const { data, error, loading } = useCoreQuery("audit.latest", { before: null, limit });
  const entries = data ?? [];
  const saying = { t, render, names: namesFromEntries(known, entries) };
  const last = entries.at(-1);
  return (
    <>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {!loading && entries.length === 0 && !error && <p className="dim">{t("audit.none")}</p>}
      <ol className={styles.entries} aria-label={t("audit.entries")}>
        {entries.map((entry, place) => {
          const { seq, at } = entry;
          const detail = auditDetail(entry, saying);
          const before = entries[place - 1];
          const isNewDay = before === undefined || day(before.at) !== day(at);
          return (
            <li key={seq}>
              {isNewDay && <h3 className={styles.day}>{day(at)}</h3>}
              <div className={styles.entry}>
                <span className={styles.number}>{seq}</span>
                <time className="dim" dateTime={new Date(at).toISOString()} title={full(at)}>
                  {time(at)}
                </time>
                <span className={styles.text}>
                  {auditLabel(entry, saying)}
                  {detail !== "" && <span className={clsx("dim", styles.detail)}>{detail}</span>}
                </span>
              </div>
            </li>
          );
        })}
      </ol>
      {last !== undefined && last.seq > 1 && entries.length >= limit && (
        <Button
          variant="default"
          onClick={() => {
            setLimit(limit + PAGE);
          }}
        >
          {t("audit.older")}
        </Button>
      )}
    </>
  );
}
