import { Button } from "@mantine/core";
import { IconCheck, IconQuestionMark, IconX } from "@tabler/icons-react";
import { useId, useState, type ReactNode } from "react";

import { ruleLabel, subjectName } from "../activity/labels";
import { useNames } from "../core/useNames";
import { useCoreQuery } from "../core/useCoreQuery";
import type { PolicySimulate, SimulationReport, SimulatedChange } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import styles from "./SimulationResult.module.css";

/** So many changes are listed at first. */
const INITIAL_CHANGES = 50;

/** The result of a simulation: counts under current and draft rules, and the calls that differ. */
export function SimulationResult({ asked, children }: { asked: PolicySimulate; children?: ReactNode }) {
  const t = useMessages();
  const id = useId();
  const { data, error, loading } = useCoreQuery("policy.simulate", asked);
  return (
    <section className={styles.result} aria-labelledby={id}>
      <h3 id={id}>{t("perm.report")}</h3>
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {data && (
        <>
          <p className="dim" role="status">
            {data.calls === 0 ? t("perm.noCalls") : t("perm.calls", { count: data.calls })}
            {data.gone > 0 && ` ${t("perm.gone", { count: data.gone })}`}
            {data.incomplete > 0 && ` ${t("perm.incomplete", { count: data.incomplete })}`}
            {data.cut && ` ${t("perm.cut")}`}
          </p>
          {data.calls > 0 && <SimulationTallies {...data} />}
          {data.calls > 0 && <SimulatedChanges changes={data.changes} />}
        </>
      )}
      {children}
    </section>
  );
}

const kinds = ["allowed", "asked", "denied"] as const;
const icons = { allowed: IconCheck, asked: IconQuestionMark, denied: IconX };

/** The numbers, with a bar for each. */
function SimulationTallies({ calls, now, draft }: SimulationReport) {
  const t = useMessages();
  return (
    <table className={styles.tallies}>
      <thead>
        <tr>
          <th scope="col">{t("perm.outcome")}</th>
          <th scope="col">{t("perm.now")}</th>
          <th scope="col">{t("perm.then")}</th>
        </tr>
      </thead>
      <tbody>
        {kinds.map((kind) => {
          const Icon = icons[kind];
          return (
            <tr key={kind} className={styles[kind]}>
              <th scope="row">
                <Icon size={15} aria-hidden /> {t(`perm.tally.${kind}`)}
              </th>
              {[now, draft].map((tally, at) => (
                <td key={at}>
                  <span className={styles.count}>{tally[kind]}</span>
                  <span className={styles.bar} aria-hidden>
                    <span style={{ inlineSize: `${String((100 * tally[kind]) / Math.max(1, calls))}%` }} />
                  </span>
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function SimulatedChanges({ changes }: { changes: readonly SimulatedChange[] }) {
  const t = useMessages();
  const { ago, full } = useTimes();
  const names = useNames();
  const [now] = useState(() => Date.now());
  const [most, setMost] = useState(INITIAL_CHANGES);
  if (changes.length === 0) return <p>{t("perm.same")}</p>;
  return (
    <>
      <h4>{t("perm.changes")}</h4>
      <ul className={styles.changes}>
        {changes.slice(0, most).map((change) => (
          <li key={[change.last, change.now, change.draft].join()}>
            <span>
              {t("perm.of", {
                subject: subjectName(change.subject),
                server: names.server(change.server),
                client: names.client(change.client),
              })}
            </span>
            <strong>
              {t("perm.change", {
                before: t(`perm.decision.${change.now}`),
                after: t(`perm.decision.${change.draft}`),
              })}
            </strong>
            <span className="dim" title={full(change.at)}>
              {t("perm.changeCalls", {
                count: change.calls,
                ago: ago(change.at, now),
                rule: ruleLabel(t, change.rule),
              })}
            </span>
          </li>
        ))}
      </ul>
      {changes.length > most && (
        <Button
          size="xs"
          variant="light"
          onClick={() => {
            setMost(changes.length);
          }}
        >
          {t("perm.allChanges", { count: changes.length })}
        </Button>
      )}
    </>
  );
}
