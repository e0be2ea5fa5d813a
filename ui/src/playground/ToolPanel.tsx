import { Alert, Button } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPlay } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useId, useMemo, useRef, useState } from "react";

import { CallDetails } from "../activity/CallDetails";
import { keepPageState, pageStateOf } from "../core/pageState";
import { useCore } from "../core/CoreProvider";
import { schemaErrors, type SchemaError } from "../forms/schemaErrors";
import type { CallRecord, ToolView } from "../generated/types";
import { useMessages } from "../messages";
import { formatJson } from "../results/contentText";
import { ArgumentsEditor } from "./ArgumentsEditor";
import { argumentsSchema } from "../forms/argumentsSchema";
import { formLock, startWith, withText, type ArgumentsState } from "./argumentsState";
import { itemKey } from "./items";
import { AsClient } from "./AsClient";
import { recordedArguments } from "../activity/recordedArguments";
import { RunEnd } from "./RunEnd";
import { withDefaults } from "../forms/schemaDefaults";
import { cancelRun, startRun, useToolRuns } from "./userRuns";
import styles from "./ToolPanel.module.css";

type Props = {
  tool: ToolView;
  /** Whether its server doesn't offer it now. */
  isGone: boolean;
  client: string | null;
  onClient: (client: string | null) => void;
  /** The call whose arguments fill the form. */
  record: CallRecord | null;
};

const none: readonly SchemaError[] = [];

/** Calls a tool: its arguments as a form and as JSON, and what becomes of the call. */
export default function ToolPanel({ tool, isGone, client, onClient, record }: Props) {
  const t = useMessages();
  const { platform } = useCore();
  const form = useId();
  const { server, name, title, description, inputSchema } = tool;
  const schema = useMemo(() => argumentsSchema(inputSchema), [inputSchema]);
  const [recorded] = useState(() => (record ? recordedArguments(record) : null));
  const unfinished = `playground.arguments/${itemKey(server, "tool", name)}`;
  const [state, setState] = useState<ArgumentsState>(() =>
    recorded?.text == null
      ? pageStateOf(unfinished, startWith(withDefaults(schema)))
      : withText(startWith({}), formatJson(recorded.text)),
  );
  useEffect(() => {
    if (state.source !== "start") keepPageState(unfinished, state);
  }, [unfinished, state]);
  const [started, setStarted] = useState<string | null>(null);
  const [tried, setTried] = useState(false);
  const lock = formLock(state.text);
  const unfit = useMemo(
    () => (schema === null || formLock(state.text) !== null ? [] : schemaErrors(schema, JSON.parse(state.text))),
    [schema, state.text],
  );
  const runs = useToolRuns().filter((run) => run.server === server && run.tool === name);
  const running = runs.find(({ end }) => end === "running");
  const ofRecord = runs.find(({ end }) => typeof end === "object" && "shown" in end && end.shown.call === record?.id);
  const shown = runs.find(({ id }) => id === started) ?? (record ? ofRecord : runs[0]);

  const isRunning = running !== undefined;
  const result = useRef<HTMLElement>(null);
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && !isRunning) result.current?.scrollIntoView({ block: "nearest" });
    wasRunning.current = isRunning;
  }, [isRunning]);

  const send = (text: string) => {
    setStarted(startRun(platform, { server, tool: name, client, args: text }));
  };
  const canSend = lock !== "broken" && lock !== "not_object" && !isGone;
  // Before that, the form is only not filled in yet.
  const isChecked = tried || state.source === "json";
  const isFormSent = schema !== null && lock === null;
  return (
    <>
      <header className={styles.head}>
        <h2>{title ?? name}</h2>
        <code className="selectable">{name}</code>
        {description !== null && <p className={clsx(styles.description, "selectable", "dim")}>{description}</p>}
      </header>
      {recorded?.gap != null && (
        <Alert
          color="orange"
          icon={<IconAlertTriangle size={18} aria-hidden />}
          title={t(`playground.gap.${recorded.gap}`)}
        />
      )}
      <ArgumentsEditor
        form={form}
        schema={schema}
        state={state}
        unfit={isChecked ? unfit : none}
        onChange={setState}
        onSend={send}
      />
      <div className={styles.actions}>
        <Button
          {...(isFormSent ? { type: "submit" as const, form } : {})}
          loading={isRunning}
          disabled={!canSend}
          leftSection={<IconPlayerPlay size={16} aria-hidden />}
          onClick={() => {
            setTried(true);
            if (!isFormSent) send(state.text);
          }}
        >
          {t("playground.call")}
        </Button>
        {isFormSent && tried && unfit.length > 0 && (
          <Button
            variant="default"
            disabled={!canSend || isRunning}
            onClick={() => {
              send(state.text);
            }}
          >
            {t("playground.callAnyway")}
          </Button>
        )}
        {running && (
          <Button
            variant="default"
            disabled={running.isCancelled}
            onClick={() => {
              cancelRun(platform, running.id);
            }}
          >
            {t("playground.cancel")}
          </Button>
        )}
        <AsClient client={client} onClient={onClient} />
      </div>
      <section ref={result} className={styles.result} aria-label={t("playground.result")}>
        {shown && <RunEnd run={shown} />}
        {!shown && record && <CallDetails record={record} />}
      </section>
    </>
  );
}
