import "./try.css";

import { Button, SegmentedControl } from "@mantine/core";
import { IconPlayerPlay, IconRotate } from "@tabler/icons-react";
import { useEffect, useId, useMemo, useRef, useState } from "react";

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
import { schemaErrors } from "../forms/schemaErrors";
import { withDefaults } from "./defaults";
import { pruned, schemaOf } from "./shape";
import { brief, type Try } from "./tries";

type Props = {
  tool: ToolView;
  /** What was tried of this tool, newest first. */
  tries: readonly Try[];
  onTry: (args: string) => void;
  onStop: (id: string) => void;
};

/** A tool with its arguments as a form or as JSON, what it gave, and what was tried before. */
export default function TryTool({ tool, tries, onTry, onStop }: Props) {
  const t = useMessages();
  const { time } = useTimes();
  const form = useId();
  const [schema] = useState(() => schemaOf(tool.inputSchema));
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
  const shown = tries.find(({ id }) => id === looked) ?? tries[0];
  const running = tries.find(({ end }) => end === "running");
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
    onTry(args);
  };
  const again = ({ args }: Try) => {
    setText(args);
    setRound(round + 1);
    if (schema) setValue(JSON.parse(args));
    send(args);
  };
  return (
    <div className="try">
      <div className="try-head">
        <SegmentedControl
          size="xs"
          aria-label={t("try.view")}
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
        {!schema && <span className="dim">{t("try.noForm")}</span>}
      </div>
      {view === "form" && schema ? (
        <>
          {Object.keys(schema.properties ?? {}).length === 0 && !schema.additionalProperties && (
            <p className="dim try-plain">{t("try.noArguments")}</p>
          )}
          <ArgumentsForm
            id={form}
            schema={schema}
            value={value}
            onChange={(next) => {
              setValue(pruned(schema, next));
            }}
            onSend={(args) => {
              send(JSON.stringify(pruned(schema, args) ?? {}));
            }}
          />
        </>
      ) : (
        <div className="try-json">
          <JsonEditor label={t("activity.arguments")} text={text} round={round} faults={faults} onChange={setText} />
          {unfit.map(({ path, key, values }, at) => (
            <p key={at} className="try-unfit">
              {[...path, t(key, values)].join(" · ")}
            </p>
          ))}
        </div>
      )}
      <div className="try-acts">
        {view === "form" ? (
          <Button type="submit" form={form} loading={isRunning} leftSection={<IconPlayerPlay size={16} aria-hidden />}>
            {t("try.run")}
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
            {t("try.run")}
          </Button>
        )}
        {running && (
          <Button
            variant="default"
            onClick={() => {
              onStop(running.id);
            }}
          >
            {t("offer.stop")}
          </Button>
        )}
        <span className="dim">{t("try.noQuestion")}</span>
      </div>
      <div ref={result} className="try-end">
        {shown && <End one={shown} server={tool.server} />}
      </div>
      {tries.length > 0 && (
        <section className="try-past">
          <h3>{t("try.past")}</h3>
          <ul>
            {tries.map((one) => (
              <li key={one.id}>
                <button
                  type="button"
                  className="try-one"
                  aria-pressed={one === shown}
                  onClick={() => {
                    setLooked(one.id);
                  }}
                >
                  <span className="dim">{time(one.at)}</span>
                  <span>{endWords(t, one)}</span>
                  <code className="mono">{brief(one.args)}</code>
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
                  {t("try.again")}
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function End({ one: { end, tool }, server }: { one: Try; server: string }) {
  const t = useMessages();
  // One drawer runs one call of a tool at a time.
  const running = useRunningCalls().findLast(
    (call) => call.client === OWN_CLIENT && call.server === server && call.tool === tool,
  );
  if (end === "running") return running ? <CallProgress call={running} /> : <LoadingIndicator />;
  if (end === "stopped") return <p className="dim try-plain">{t("try.stoppedText")}</p>;
  return "shown" in end ? <ResultParts shown={end.shown} server={server} /> : <ErrorAlert error={end.problem} />;
}

function endWords(t: Translate, { end }: Try): string {
  if (end === "running") return t("activity.running");
  if (end === "stopped") return t("try.stopped");
  if (!("shown" in end)) return t("activity.outcome.failed");
  const { end: how, unfit } = end.shown;
  if (how.end === "error") return t("result.error", { code: String(how.code) });
  if (how.end === "tool_error") return t("activity.outcome.tool_error");
  return t(unfit === null ? "result.ok" : "result.unfit");
}
