import { Button, Group, Stack } from "@mantine/core";
import clsx from "clsx";
import { useMemo, useState } from "react";

import { useAction } from "../core/useAction";
import type { UserError, ServerConfig, ServerDraft } from "../generated/types";
import { useMessages, useRender } from "../messages";
import JsonEditor from "../components/JsonEditor";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import { entryText, withoutTypedSecrets } from "./serverJson";
import { keepUnfinishedJson, unfinishedJson } from "./unfinishedSettings";
import { useServerValidation } from "./useServerValidation";
import styles from "./JsonSettings.module.css";

type Props = {
  config: ServerConfig;
  onEdited: (edited: boolean) => void;
  onSaved: () => void;
};

/** The settings of a server as its entry in servers.json. */
export default function JsonSettings({ config, onEdited, onSaved }: Props) {
  const t = useMessages();
  const render = useRender();
  const kept = entryText(config);
  const [edited, setEdited] = useState(() => unfinishedJson(config));
  /** How often the text was put back to what is kept. */
  const [round, setRound] = useState(0);
  const [error, setError] = useState<UserError | null>(null);
  const edit = useAction("servers.edit");
  const text = edited ?? kept;
  const {
    report,
    isCurrent,
    error: unvalidated,
    validate,
  } = useServerValidation({ server: config.id, settings: { json: text }, secrets: [] });
  const faults = useMemo(
    () =>
      (report?.problems ?? []).map(({ span, message }) => ({
        from: span?.from ?? 0,
        to: span?.to ?? 0,
        message: render(message),
      })),
    [report, render],
  );
  const draft = isCurrent && report?.problems.length === 0 ? report.draft : null;
  const change = (text: string | null) => {
    const next = text === kept ? null : text;
    setEdited(next);
    keepUnfinishedJson(config, next === null ? null : withoutTypedSecrets(next, kept));
    setError(null);
    onEdited(next !== null);
  };
  const putBack = () => {
    change(null);
    setRound(round + 1);
  };
  const save = (draft: ServerDraft) => {
    setError(null);
    edit.request({ server: config.id, draft, secrets: [] }).then(
      () => {
        // What is kept now comes by itself, and brings a fresh editor.
        if (entryText(draft) === kept) putBack();
        else change(null);
        onSaved();
      },
      (thrown: unknown) => {
        setError(toUserError(thrown));
      },
    );
  };
  return (
    <Stack gap="sm" className={styles.settings}>
      <p className={clsx("dim", styles.text)}>{t("servers.settings.jsonText")}</p>
      <JsonEditor
        key={kept}
        label={t("servers.settings.json")}
        text={text}
        round={round}
        faults={faults}
        fill
        onChange={change}
      />
      {error && <ErrorAlert error={error} />}
      {unvalidated && (
        <ErrorAlert error={unvalidated}>
          <Button
            variant="default"
            size="xs"
            onClick={() => {
              // Another failure takes the place of this one.
              validate().catch(() => undefined);
            }}
          >
            {t("appShell.again")}
          </Button>
        </ErrorAlert>
      )}
      <Group justify="flex-end" gap="xs">
        {edited !== null && (
          <Button variant="default" onClick={putBack}>
            {t("appShell.cancel")}
          </Button>
        )}
        <Button
          disabled={edited === null || draft === null}
          loading={edit.busy}
          onClick={() => {
            if (draft !== null) save(draft);
          }}
        >
          {t("servers.form.save")}
        </Button>
      </Group>
    </Stack>
  );
}
