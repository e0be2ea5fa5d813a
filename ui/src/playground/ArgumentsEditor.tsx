import { SegmentedControl } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { RJSFSchema } from "@rjsf/utils";
import clsx from "clsx";
import { useMemo, useState } from "react";

import type { SchemaError } from "../forms/schemaErrors";
import { useMessages } from "../messages";
import JsonEditor from "../components/JsonEditor";
import { syntaxErrorSpan } from "../components/jsonSpans";
import { ArgumentsForm } from "../forms/ArgumentsForm";
import { formLock, fromEditor, fromForm, type ArgumentsState } from "./argumentsState";
import styles from "./ArgumentsEditor.module.css";

type Props = {
  /** Id of the form, which a button elsewhere names. */
  form: string;
  /** Null where no form can be made. */
  schema: RJSFSchema | null;
  state: ArgumentsState;
  /** What of the arguments doesn't match the schema. */
  unfit: readonly SchemaError[];
  onChange: (change: (before: ArgumentsState) => ArgumentsState) => void;
  onSend: (text: string) => void;
};

/** The arguments of a tool as a form and as JSON, side by side where there is room. */
export function ArgumentsEditor({ form, schema, state, unfit, onChange, onSend }: Props) {
  const t = useMessages();
  const isWide = useMediaQuery("(min-width: 1000px)", true, { getInitialValueInEffect: false });
  const [view, setView] = useState<"form" | "json">("form");
  const { text, value, round } = state;
  const lock = formLock(text);
  const faults = useMemo(() => {
    const broken = syntaxErrorSpan(text);
    if (broken) return [{ ...broken, message: t("json.broken") }];
    return lock === "not_object" ? [{ from: 0, to: text.length, message: t("playground.locked.not_object") }] : [];
  }, [text, lock, t]);
  const hasForm = schema !== null;
  const shows = (one: "form" | "json") =>
    one === "form" ? hasForm && (isWide || view === one) : !hasForm || isWide || view === one;
  const isEmpty = hasForm && Object.keys(schema.properties ?? {}).length === 0 && !schema.additionalProperties;
  return (
    <div className={styles.arguments}>
      {hasForm && !isWide && (
        <SegmentedControl
          size="xs"
          className={styles.tabs}
          aria-label={t("playground.view")}
          data={[
            { value: "form", label: t("playground.form") },
            { value: "json", label: t("servers.settings.json") },
          ]}
          value={view}
          onChange={(wanted) => {
            setView(wanted === "form" ? "form" : "json");
          }}
        />
      )}
      {!hasForm && <p className={clsx("dim", styles.note)}>{t("playground.noForm")}</p>}
      <div className={styles.panes}>
        {shows("form") && schema && (
          <section className={styles.pane} aria-label={t("playground.form")}>
            {lock !== null && (
              <p className={styles.lock} role="note">
                {t(`playground.locked.${lock}`)}
              </p>
            )}
            {isEmpty && <p className={clsx("dim", styles.note)}>{t("playground.noArguments")}</p>}
            <div inert={lock !== null} className={lock === null ? undefined : styles.locked}>
              <ArgumentsForm
                id={form}
                schema={schema}
                value={value}
                onChange={(next, isByUser) => {
                  onChange((before) => fromForm(before, schema, next, isByUser));
                }}
                onSend={(next) => {
                  const sent = fromForm(state, schema, next, false);
                  onChange(() => sent);
                  onSend(sent.text);
                }}
              />
            </div>
          </section>
        )}
        {shows("json") && (
          <section className={styles.pane} aria-label={t("servers.settings.json")}>
            <div className={styles.json}>
              <JsonEditor
                label={t("activity.arguments")}
                text={text}
                round={round}
                faults={faults}
                onChange={(next) => {
                  onChange((before) => (before.text === next ? before : fromEditor(before, next)));
                }}
              />
            </div>
            {unfit.length > 0 && (
              <div className={styles.unfit} role="note">
                <p>{t("playground.unfit")}</p>
                <ul>
                  {unfit.map(({ path, key, values }, at) => (
                    <li key={at}>{[...path, t(key, values)].join(" · ")}</li>
                  ))}
                </ul>
              </div>
            )}
          </section>
        )}
      </div>
    </div>
  );
}
