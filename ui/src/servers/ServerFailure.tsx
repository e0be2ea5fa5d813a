import { Button, Collapse, Group } from "@mantine/core";
import clsx from "clsx";
import { useId, useState } from "react";

import type { ServerStatus, ServerView } from "../generated/types";
import { useMessages } from "../messages";
import { textLine } from "../messages/userError";
import { CopyButton } from "../components/CopyButton";
import { useNow } from "../components/useNow";
import { countLabel, ATTEMPTS_PER_ROUND, targetOf } from "./status";
import styles from "./ServerFailure.module.css";

type Failed = Extract<ServerStatus, { state: "failed" }>;

/** What was tried, when the next attempt is, and the last output of the server. */
export function ServerFailure({ view, status }: { view: ServerView; status: Failed }) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const id = useId();
  const target = targetOf(view.config.transport);
  const tail = view.logTail.map(({ text }) => text).join("\n");
  return (
    <div className={styles.failure}>
      <Group gap="xs">
        <Button
          size="compact-sm"
          variant="default"
          aria-expanded={opened}
          aria-controls={id}
          onClick={() => {
            setOpened(!opened);
          }}
        >
          {t("servers.details")}
        </Button>
        <span className="dim">
          {status.nextRetry === null ? (
            t("servers.noRetry")
          ) : (
            <Countdown to={status.nextRetry} attempt={status.attempts + 1} />
          )}
        </span>
      </Group>
      <Collapse expanded={opened} transitionDuration={100} id={id}>
        <div>
          <div className={styles.facts}>
            <p className="dim">
              {t(`servers.kindOfFailure.${status.error}`)} · {countLabel(t, "attempts", status.attempts)}
            </p>
            <CopyButton
              text={[textLine(t, status.message), target, tail].filter((part) => part !== "").join("\n")}
              label={t("servers.copyDetails")}
            />
          </div>
          {target !== "" && (
            <p className="dim">
              {t("servers.tried")} <code className="mono selectable">{target}</code>
            </p>
          )}
          {tail !== "" && (
            <>
              <p className="dim">{t("servers.lastLines")}</p>
              <pre className={clsx("mono", "selectable", styles.logTail)} tabIndex={0}>
                {tail}
              </pre>
            </>
          )}
        </div>
      </Collapse>
    </div>
  );
}

function Countdown({ to, attempt }: { to: number; attempt: number }) {
  const t = useMessages();
  const seconds = Math.max(0, Math.ceil((to - useNow(1000)) / 1000));
  // A call may add one to the row.
  return attempt <= ATTEMPTS_PER_ROUND
    ? t("servers.retryInOf", { seconds, attempt, all: ATTEMPTS_PER_ROUND })
    : t("servers.retryIn", { seconds });
}
