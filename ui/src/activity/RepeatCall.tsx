import { Button } from "@mantine/core";
import { IconExternalLink, IconRotate } from "@tabler/icons-react";
import { useState } from "react";

import { useCore } from "../core/CoreProvider";
import { stopRun } from "../core/stopRun";
import { useAction } from "../core/useAction";
import type { CallRecord, ResultView, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { formatRoute } from "../navigation/route";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import { ResultParts } from "../results/ResultParts";
import { recordedArguments, triedItem } from "./recordedArguments";
import styles from "./CallDetails.module.css";

type End = { shown: ResultView } | { error: UserError };

/**
 * Runs a tool again with the recorded arguments, as the user; what the user blocked stays blocked. Arguments that are not
 * kept whole are entered in the Playground instead.
 */
export function RepeatCall({ record }: { record: CallRecord }) {
  const t = useMessages();
  const { platform } = useCore();
  const call = useAction("servers.callTool");
  const [run, setRun] = useState<string | null>(null);
  const [end, setEnd] = useState<End | null>(null);
  const { subject, server, id, at } = record;
  const tried = triedItem(subject);
  if (!tried) return null;
  const { text, gap } = recordedArguments(record);
  const canRepeat = subject.kind === "tool" && text !== null && gap === null;
  const repeat = () => {
    if (!canRepeat) return;
    const name = crypto.randomUUID();
    setRun(name);
    setEnd(null);
    call
      .request({ server, tool: subject.name, arguments: text, run: name, client: null })
      .then(
        (shown) => {
          setEnd({ shown });
        },
        (thrown: unknown) => {
          setEnd({ error: toUserError(thrown) });
        },
      )
      .finally(() => {
        setRun(null);
      });
  };
  return (
    <section className={styles.repeat} aria-label={t("activity.repeat")}>
      <div className={styles.actions}>
        {canRepeat && (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconRotate size={14} aria-hidden />}
            loading={run !== null}
            onClick={repeat}
          >
            {t("activity.repeat")}
          </Button>
        )}
        {run !== null && (
          <Button
            size="xs"
            variant="default"
            onClick={() => {
              stopRun(platform, run);
            }}
          >
            {t("activity.cancel")}
          </Button>
        )}
        <Button
          size="xs"
          variant="subtle"
          component="a"
          href={formatRoute({ page: "playground", server, ...tried, call: { at, id } })}
          leftSection={<IconExternalLink size={14} aria-hidden />}
        >
          {t("activity.openInPlayground")}
        </Button>
      </div>
      <p className="dim">{t(gap === null ? "activity.repeatText" : `activity.noRepeat.${gap}`)}</p>
      {end && ("shown" in end ? <ResultParts shown={end.shown} server={server} /> : <ErrorAlert error={end.error} />)}
    </section>
  );
}
