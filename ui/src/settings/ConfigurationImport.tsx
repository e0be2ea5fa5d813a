import { Button, Group, Stack } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { ConfigurationContent, ConfigurationOutcome, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { inputsOf, inputValue, isInputMissing } from "../imports/importChoices";
import { ImportFileField, ImportForm } from "../imports/ImportForm";
import { ImportInputs } from "../imports/ImportInputs";
import { toUserError } from "../platform";
import { ConfigurationItemRow } from "./ConfigurationItemRow";
import {
  initialConfigurationDecisions,
  isNameless,
  itemKinds,
  pickedItems,
  toConfigurationChoices,
} from "./configurationChoices";
import styles from "./ConfigurationImport.module.css";

/** What exported configurations end with. */
const ENDINGS = ["json"];

/** Imports a configuration: first which file, then which parts of it. */
export function ConfigurationImport({ onDone }: { onDone: () => void }) {
  const [opened, setOpened] = useState<{ file: string; content: ConfigurationContent } | null>(null);
  const [outcome, setOutcome] = useState<ConfigurationOutcome | null>(null);
  if (outcome !== null) return <Outcome outcome={outcome} onDone={onDone} />;
  if (opened === null) {
    return (
      <FileChoice
        onOpened={(file, content) => {
          setOpened({ file, content });
        }}
      />
    );
  }
  return (
    <Checklist
      file={opened.file}
      content={opened.content}
      onBack={() => {
        setOpened(null);
      }}
      onImported={setOutcome}
    />
  );
}

function FileChoice({ onOpened }: { onOpened: (file: string, content: ConfigurationContent) => void }) {
  const t = useMessages();
  const [error, setError] = useState<UserError | null>(null);
  const { request, busy } = useAction("configuration.preview");
  const open = async (file: string) => {
    setError(null);
    try {
      onOpened(file, await request({ from: { file } }));
    } catch (thrown) {
      setError(toUserError(thrown));
    }
  };
  return (
    <Stack gap="md">
      <p className="dim">{t("transfer.importText")}</p>
      <ImportFileField label={t("transfer.path")} endings={ENDINGS} busy={busy} onPick={(file) => void open(file)} />
      {error && <ErrorAlert error={error} />}
    </Stack>
  );
}

type ChecklistProps = {
  file: string;
  content: ConfigurationContent;
  onBack: () => void;
  onImported: (outcome: ConfigurationOutcome) => void;
};

function Checklist({ file, content: { items, fingerprint }, onBack, onImported }: ChecklistProps) {
  const t = useMessages();
  const queries = useQueryClient();
  const [decisions, setDecisions] = useState(() => initialConfigurationDecisions(items));
  const [error, setError] = useState<UserError | null>(null);
  const { request, busy } = useAction("configuration.import");
  const picked = pickedItems(decisions, items);
  const inputs = inputsOf(picked);
  const run = async () => {
    setError(null);
    const values = inputs
      .map((input) => ({ id: input.id, value: inputValue(decisions.inputs, input) }))
      .filter(({ value }) => value !== "");
    try {
      const wanted = { from: { file }, fingerprint, items: toConfigurationChoices(decisions, items), inputs: values };
      onImported(await request(wanted));
      await queries.invalidateQueries();
    } catch (thrown) {
      setError(toUserError(thrown));
    }
  };
  const isIncomplete = isNameless(decisions, picked) || isInputMissing(inputs, decisions.inputs);
  return (
    <ImportForm
      file={file}
      error={error}
      busy={busy}
      canRun={picked.length > 0 && !isIncomplete}
      run={t("transfer.run", { count: picked.length })}
      onRun={run}
      onBack={onBack}
    >
      {itemKinds.map((kind) => {
        const ofKind = items.filter((item) => item.kind === kind);
        if (ofKind.length === 0) return null;
        return (
          <section key={kind} aria-label={t(`transfer.kind.${kind}`)}>
            <h3 className={styles.kind}>{t(`transfer.kind.${kind}`)}</h3>
            {ofKind.some(({ widens }) => widens) && (
              <p className={styles.warning}>
                {t(kind === "modelProvider" ? "transfer.movesProvider" : "transfer.widens")}
              </p>
            )}
            <ul className={styles.items}>
              {ofKind.map((item) => (
                <ConfigurationItemRow key={item.index} item={item} decisions={decisions} onDecisions={setDecisions} />
              ))}
            </ul>
          </section>
        );
      })}
      {inputs.length > 0 && (
        <ImportInputs
          inputs={inputs}
          values={decisions.inputs}
          onValues={(values) => {
            setDecisions((before) => ({ ...before, inputs: values }));
          }}
        />
      )}
    </ImportForm>
  );
}

/** What came of an import. */
function Outcome({ outcome, onDone }: { outcome: ConfigurationOutcome; onDone: () => void }) {
  const t = useMessages();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    title.current?.focus();
  }, []);
  const { imported, withoutSecrets, newClients, problems } = outcome;
  return (
    <Stack gap="md">
      <h3 ref={title} tabIndex={-1} className={styles.title}>
        {t("transfer.done", { count: imported })}
      </h3>
      {withoutSecrets.length > 0 && <p>{t("transfer.withoutSecrets", { servers: withoutSecrets })}</p>}
      {newClients.length > 0 && <p>{t("transfer.newClients", { clients: newClients })}</p>}
      {problems.map((problem, at) => (
        <ErrorAlert key={at} error={problem} />
      ))}
      <Group justify="flex-end">
        <Button onClick={onDone}>{t("imports.close")}</Button>
      </Group>
    </Stack>
  );
}
