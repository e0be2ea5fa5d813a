import { Button, Checkbox, Group, Stack } from "@mantine/core";
import { IconFileImport } from "@tabler/icons-react";
import { useEffect, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useAction } from "../core/useAction";
import type { ImportCandidate, ImportOrigin, ImportOutcome, ImportPreview, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { toUserError } from "../platform";
import { ImportCandidateRow } from "./ImportCandidateRow";
import { ImportForm } from "./ImportForm";
import {
  initialDecisions,
  inputsOf,
  isImportable,
  isIncomplete,
  pickedServers,
  secretCount,
  toImportChoices,
  withAllTicked,
  type ImportDecisions,
} from "./importChoices";
import { ImportInputs } from "./ImportInputs";
import { ImportSummary } from "./ImportSummary";
import styles from "./ImportChecklist.module.css";

type Props = {
  from: ImportOrigin;
  /** Goes back to where servers can be imported from. */
  onBack: () => void;
  /** Called when the user is done, whether something was imported or not. */
  onDone: () => void;
};

/** The servers of another application's settings: which are imported, and how. */
export function ImportChecklist({ from, onBack, onDone }: Props) {
  // Everything is read again with each attempt.
  const [attempt, setAttempt] = useState(0);
  const onAgain = () => {
    setAttempt((before) => before + 1);
  };
  return <Attempt key={attempt} from={from} onBack={onBack} onDone={onDone} onAgain={onAgain} />;
}

function Attempt({ from, onBack, onDone, onAgain }: Props & { onAgain: () => void }) {
  const { platform } = useCore();
  const [preview, setPreview] = useState<ImportPreview | null>(null);
  const [error, setError] = useState<UserError | null>(null);
  const [outcomes, setOutcomes] = useState<readonly ImportOutcome[] | null>(null);
  // Not a cached query: the text may hold secrets, which are dropped with this component.
  useEffect(() => {
    let isWanted = true;
    platform.command("imports.preview", { from }).then(
      (reply) => {
        if (isWanted) setPreview(reply);
      },
      (thrown: unknown) => {
        if (isWanted) setError(toUserError(thrown));
      },
    );
    return () => {
      isWanted = false;
    };
  }, [platform, from]);

  if (error !== null) return <Failed error={error} onAgain={onAgain} onBack={onBack} />;
  if (preview === null) return <LoadingIndicator />;
  if (outcomes !== null) return <ImportSummary outcomes={outcomes} onAgain={onAgain} onDone={onDone} />;
  return <LoadedChecklist from={from} preview={preview} onBack={onBack} onImported={setOutcomes} />;
}

function Failed({ error, onAgain, onBack }: { error: UserError; onAgain: () => void; onBack: () => void }) {
  const t = useMessages();
  return (
    <Stack gap="md">
      <ErrorAlert error={error} />
      <Group gap="xs">
        <Button variant="default" onClick={onBack}>
          {t("imports.back")}
        </Button>
        <Button onClick={onAgain}>{t("imports.readAgain")}</Button>
      </Group>
    </Stack>
  );
}

type LoadedProps = {
  from: ImportOrigin;
  preview: ImportPreview;
  onBack: () => void;
  onImported: (outcomes: readonly ImportOutcome[]) => void;
};

function LoadedChecklist({ from, preview, onBack, onImported }: LoadedProps) {
  const t = useMessages();
  const { candidates, fingerprint } = preview;
  const [decisions, setDecisions] = useState<ImportDecisions>(() => initialDecisions(candidates));
  const [error, setError] = useState<UserError | null>(null);
  const { request, busy } = useAction("imports.run");
  const picked = pickedServers(decisions, candidates);
  const secrets = secretCount(picked);
  const inputs = inputsOf(picked);
  const run = async () => {
    setError(null);
    try {
      const servers = [...toImportChoices(decisions, candidates)];
      onImported(await request({ from, fingerprint, servers, run: crypto.randomUUID() }));
    } catch (thrown) {
      setError(toUserError(thrown));
    }
  };
  if (candidates.length === 0) {
    return (
      <EmptyState icon={<IconFileImport size={26} />} title={t("imports.empty")} text={t("imports.emptyText")}>
        <Button variant="default" onClick={onBack}>
          {t("imports.back")}
        </Button>
      </EmptyState>
    );
  }
  return (
    <ImportForm
      file={preview.file}
      error={error}
      busy={busy}
      running={t("imports.running")}
      canRun={picked.length > 0 && !isIncomplete(decisions, picked)}
      run={t("imports.run", { count: picked.length })}
      onRun={run}
      onBack={onBack}
    >
      <TickAll candidates={candidates} picked={picked.length} decisions={decisions} onDecisions={setDecisions} />
      <ul className={styles.candidates} aria-label={t("imports.servers")}>
        {candidates.map((candidate) => (
          <ImportCandidateRow
            key={candidate.index}
            candidate={candidate}
            decisions={decisions}
            onDecisions={setDecisions}
          />
        ))}
      </ul>
      {inputs.length > 0 && (
        <ImportInputs
          inputs={inputs}
          values={decisions.inputs}
          onValues={(values) => {
            setDecisions((before) => ({ ...before, inputs: values }));
          }}
        />
      )}
      {secrets > 0 && (
        <Checkbox
          label={t("imports.toKeychain", { count: secrets })}
          description={t("imports.toKeychainHint")}
          checked={decisions.toKeychain}
          onChange={(event) => {
            const toKeychain = event.currentTarget.checked;
            setDecisions((before) => ({ ...before, toKeychain }));
          }}
        />
      )}
    </ImportForm>
  );
}

type TickAllProps = {
  candidates: readonly ImportCandidate[];
  picked: number;
  decisions: ImportDecisions;
  onDecisions: (decisions: ImportDecisions) => void;
};

function TickAll({ candidates, picked, decisions, onDecisions }: TickAllProps) {
  const t = useMessages();
  const possible = candidates.filter(isImportable).length;
  return (
    <Checkbox
      label={t("imports.all", { picked, count: candidates.length })}
      checked={picked > 0 && picked === possible}
      indeterminate={picked > 0 && picked < possible}
      disabled={possible === 0}
      onChange={() => {
        onDecisions(withAllTicked(decisions, candidates, picked === 0));
      }}
    />
  );
}
