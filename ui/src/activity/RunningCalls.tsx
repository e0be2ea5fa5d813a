import { Button } from "@mantine/core";

import { useAction } from "../core/useAction";
import { useNames } from "../core/useNames";
import type { RunningCall } from "../generated/types";
import { useMessages, useTimes } from "../messages";
import { CallProgress } from "../running/CallProgress";
import styles from "./RunningCalls.module.css";

/** The calls that run now, each with its progress and a way to cancel it. */
export function RunningCalls({ running, ofOne }: { running: readonly RunningCall[]; ofOne: boolean }) {
  const t = useMessages();
  const { time, full } = useTimes();
  const names = useNames();
  const cancel = useAction("calls.cancel");
  if (running.length === 0) return null;
  return (
    <section className={styles.running} aria-labelledby="running-calls">
      <h2 id="running-calls">{t("activity.runningNow", { count: running.length })}</h2>
      <ul>
        {running.map((call) => {
          const server = names.server(call.server);
          return (
            <li key={call.call} className={styles.call}>
              <span className="dim" title={full(call.at)}>
                {time(call.at)}
              </span>
              <span className={styles.what}>
                <span className={styles.names}>
                  <span className="mono">{call.tool}</span>
                  <span className="dim">
                    {ofOne
                      ? names.client(call.client)
                      : t("activity.of", { server, client: names.client(call.client) })}
                  </span>
                </span>
                <CallProgress call={call} />
              </span>
              {call.sent && (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t("activity.cancelCall", { tool: call.tool, server })}
                  onClick={() => void cancel.run({ call: call.call })}
                >
                  {t("activity.cancel")}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
