import "./toolRunner.css";

import { Button, SegmentedControl } from "@mantine/core";
import { IconPlayerPlay, IconRotate } from "@tabler/icons-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";

import { schemaErrors } from "../forms/schemaErrors";
import type { ToolView } from "../generated/types";
import { useMessages, useTimes, type Translate } from "../messages";
import JsonEditor from "../components/JsonEditor";
import { syntaxErrorSpan } from "../components/jsonSpans";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { CallProgress } from "../activity/CallProgress";
import { useRunningCalls } from "../activity/useRunningCalls";
import { OWN_CLIENT } from "../core/useNames";
import { ResultParts } from "../results/ResultParts";
import { ArgumentsForm } from "./ArgumentsForm";
import { argumentsSchema, withoutEmpty } from "./argumentsSchema";
import { argumentsLine, type ToolRun } from "./runHistory";
import { withDefaults } from "./schemaDefaults";

type Props = {
  tool: ToolView;
  /** Runs of this tool, newest first. */
  runs: readonly ToolRun[];
  onRun: (args: string) => void;
  onStop: (id: string) => void;
};

/** Runs a tool: its arguments as a form or as JSON, the result, and the run history. */
export default function ToolRunner({ tool, runs, onRun, onStop }: Props) {
  const t = useMessages();
  const { time } = useTimes();
  const form = useId();
  const [schema] = useState(() => argumentsSchema(tool.inputSchema));
  const [view, setView] = useState<"form" | "json">(schema ? "form" : "json");
  const [value, setValue] = useState<unknown>(() => withDefaults(schema) ?? {});
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const [round, setRound] = useState(0);
  const [looked, setLooked] = useState<string | null>(null);
  const broken = useMemo(() => syntaxErrorSpan(text), [text]);
  const unfit = useMemo(
    () => (broken || !schema ? [] : schemaErrors(schema, JSON.parse(text))),
    [broken, schema, text],
  );
  const faults = useMemo(() => (broken ? [{ ...broken, message: t("json.broken") }] : []), [broken, t]);
  const shown = runs.find(({ id }) => id === looked) ?? runs[0];
  const running = runs.find(({ end }) => end === "running");
  const isRunning = running !== undefined;
  const result = useRef<HTMLDivElement>(null);
  const ran = useRef(isRunning);
  useEffect(() => {
    if (ran.current && !isRunning) result.current?.scrollIntoView({ block: "nearest" });
    ran.current = isRunning;
  }, [isRunning]);

  const show = (wanted: "form" | "json") => {
    if (wanted === "json") setText(JSON.stringify(value ?? {}, null, 2));
    else setValue(JSON.parse(text));
    setView(wanted);
  };
  const send = (args: string) => {
    setLooked(null);
    onRun(args);
  };
  const again = ({ args }: ToolRun) => {
    setText(args);
    setRound(round + 1);
    if (schema) setValue(JSON.parse(args));
    send(args);
  };
  return (
    <div className="runner">
      <div className="runner-head">
        <SegmentedControl
          size="xs"
          aria-label={t("toolRunner.view")}
          data={[
            {
              value: "form",
              label: t("servers.settings.form"),
              disabled: !schema || (view === "json" && broken !== null),
            },
            { value: "json", label: t("servers.settings.json") },
          ]}
          value={view}
          onChange={(wanted) => {
            show(wanted === "form" ? "form" : "json");
          }}
        />
        {!schema && <span className="dim">{t("toolRunner.noForm")}</span>}
      </div>
      {view === "form" && schema ? (
        <>
          {Object.keys(schema.properties ?? {}).length === 0 && !schema.additionalProperties && (
            <p className="dim runner-plain">{t("toolRunner.noArguments")}</p>
          )}
          <ArgumentsForm
            id={form}
            schema={schema}
            value={value}
            onChange={(next) => {
              setValue(withoutEmpty(schema, next));
            }}
            onSend={(args) => {
              send(JSON.stringify(withoutEmpty(schema, args) ?? {}));
            }}
          />
        </>
      ) : (
        <div className="runner-json">
          <JsonEditor label={t("activity.arguments")} text={text} round={round} faults={faults} onChange={setText} />
          {unfit.map(({ path, key, values }, at) => (
            <p key={at} className="runner-unfit">
              {[...path, t(key, values)].join(" · ")}
            </p>
          ))}
        </div>
      )}
      <div className="runner-acts">
        {view === "form" ? (
          <Button type="submit" form={form} loading={isRunning} leftSection={<IconPlayerPlay size={16} aria-hidden />}>
            {t("toolRunner.run")}
          </Button>
        ) : (
          <Button
            loading={isRunning}
            disabled={broken !== null}
            leftSection={<IconPlayerPlay size={16} aria-hidden />}
            onClick={() => {
              send(text);
            }}
          >
            {t("toolRunner.run")}
          </Button>
        )}
        {running && (
          <Button
            variant="default"
            onClick={() => {
              onStop(running.id);
            }}
          >
            {t("catalog.stop")}
          </Button>
        )}
        <span className="dim">{t("toolRunner.noApproval")}</span>
      </div>
      <div ref={result} className="runner-end">
        {shown && <End one={shown} server={tool.server} />}
      </div>
      {runs.length > 0 && (
        <section className="runner-history">
          <h3>{t("toolRunner.history")}</h3>
          <ul>
            {runs.map((one) => (
              <li key={one.id}>
                <button
                  type="button"
                  className="runner-one"
                  aria-pressed={one === shown}
                  onClick={() => {
                    setLooked(one.id);
                  }}
                >
                  <span className="dim">{time(one.at)}</span>
                  <span>{endWords(t, one)}</span>
                  <code className="mono">{argumentsLine(one.args)}</code>
                </button>
                <Button
                  size="compact-xs"
                  variant="default"
                  disabled={isRunning}
                  leftSection={<IconRotate size={13} aria-hidden />}
                  onClick={() => {
                    again(one);
                  }}
                >
                  {t("toolRunner.again")}
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function End({ one: { end, tool }, server }: { one: ToolRun; server: string }) {
  const t = useMessages();
  // One drawer runs one call of a tool at a time.
  const running = useRunningCalls().findLast(
    (call) => call.client === OWN_CLIENT && call.server === server && call.tool === tool,
  );
  if (end === "running") return running ? <CallProgress call={running} /> : <LoadingIndicator />;
  if (end === "stopped") return <p className="dim runner-plain">{t("toolRunner.stoppedText")}</p>;
  return "shown" in end ? <ResultParts shown={end.shown} server={server} /> : <ErrorAlert error={end.error} />;
}

function endWords(t: Translate, { end }: ToolRun): string {
  if (end === "running") return t("activity.running");
  if (end === "stopped") return t("toolRunner.stopped");
  if (!("shown" in end)) return t("activity.outcome.failed");
  const { end: how, unfit } = end.shown;
  if (how.end === "error") return t("result.error", { code: String(how.code) });
  if (how.end === "tool_error") return t("activity.outcome.tool_error");
  return t(unfit === null ? "result.ok" : "result.unfit");
}
