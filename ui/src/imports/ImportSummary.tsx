import { Anchor, Button, Group, Stack } from "@mantine/core";
import { IconAlertTriangle, IconCircleCheck } from "@tabler/icons-react";
import { useEffect, useRef } from "react";

import type { ImportOutcome } from "../generated/types";
import { useMessages } from "../messages";
import { formatRoute } from "../navigation/route";
import { ErrorDetails, ErrorTitle } from "../components/ErrorDetails";
import styles from "./ImportSummary.module.css";

type Props = {
  outcomes: readonly ImportOutcome[];
  /** Shows the servers again. */
  onAgain: () => void;
  onDone: () => void;
};

/** What came of an import, server by server. */
export function ImportSummary({ outcomes, onAgain, onDone }: Props) {
  const t = useMessages();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    title.current?.focus();
  }, []);
  const imported = outcomes.filter(({ server }) => server !== null).length;
  const hasFailed = imported < outcomes.length;
  return (
    <Stack gap="md">
      <h3 ref={title} tabIndex={-1} className={styles.title}>
        {t("imports.done", { imported, count: outcomes.length })}
      </h3>
      <ul className={styles.outcomes} aria-label={t("imports.results")}>
        {outcomes.map((outcome) => (
          <OutcomeRow key={outcome.index} outcome={outcome} onDone={onDone} />
        ))}
      </ul>
      <Group justify="flex-end" gap="xs">
        {hasFailed && (
          <Button variant="default" onClick={onAgain}>
            {t("imports.backToList")}
          </Button>
        )}
        <Button onClick={onDone}>{t("imports.close")}</Button>
      </Group>
    </Stack>
  );
}

type RowProps = { outcome: ImportOutcome; onDone: () => void };

function OutcomeRow({ outcome: { name, server, problem }, onDone }: RowProps) {
  const t = useMessages();
  return (
    <li className={styles.outcome}>
      {problem === null ? (
        <IconCircleCheck size={18} className={styles.good} aria-hidden />
      ) : (
        <IconAlertTriangle size={18} className={styles.bad} aria-hidden />
      )}
      <div className={styles.about}>
        <span>
          <strong>{name}</strong> {t(server === null ? "imports.notImported" : "imports.imported")}
        </span>
        {problem !== null && (
          <div>
            <ErrorTitle error={problem} />
            <ErrorDetails error={problem} />
          </div>
        )}
      </div>
      {server !== null && (
        <Anchor
          href={formatRoute({ page: "server", id: server, tab: "tools" })}
          aria-label={t("imports.openServer", { name })}
          onClick={onDone}
        >
          {t("imports.open")}
        </Anchor>
      )}
    </li>
  );
}
