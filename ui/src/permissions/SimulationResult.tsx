import { Button } from "@mantine/core";
import { IconCheck, IconQuestionMark, IconX } from "@tabler/icons-react";
import { useEffect, useEffectEvent, useId, useState, type ReactNode } from "react";

import { ruleLabel, subjectName } from "../activity/labels";
import { useNames } from "../core/useNames";
import { useCore } from "../core/CoreProvider";
import { useLatestRun } from "../core/useLatestRun";
import { useNamedRun } from "../core/useNamedRun";
import type { PolicySimulate, SimulationReport, SimulatedChange } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import styles from "./SimulationResult.module.css";

/** Which calls are simulated, with which rules. */
export type SimulationQuery = Omit<PolicySimulate, "run">;

/** So many changes are listed at first. */
const INITIAL_CHANGES = 50;

/** The result of a simulation: counts under current and draft rules, and the calls that differ. */
export function SimulationResult({ asked, children }: { asked: SimulationQuery; children?: ReactNode }) {
  const t = useMessages();
  const id = useId();
  const { platform } = useCore();
  const { latest, run, forget } = useLatestRun<SimulationReport>(useNamedRun());
  const { reply: data, error, running } = latest;
  const [isCancelled, setIsCancelled] = useState(false);
  const simulate = () => {
    void run(async (name) => platform.command("policy.simulate", { ...asked, run: name }));
  };
  const begin = useEffectEvent(simulate);
  useEffect(() => {
    begin();
  }, []);
  return (
    <section className={styles.result} aria-labelledby={id}>
      <h3 id={id}>{t("perm.report")}</h3>
      {error && <ErrorAlert error={error} />}
      {running && (
        <LoadingIndicator
          onCancel={() => {
            forget();
            setIsCancelled(true);
          }}
        />
      )}
      {isCancelled && (
        <Button
          variant="default"
          onClick={() => {
            setIsCancelled(false);
            simulate();
          }}
        >
          {t("perm.simulate")}
        </Button>
      )}
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
