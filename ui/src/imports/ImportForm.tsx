import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { useCore } from "../core/CoreProvider";
import { showError } from "../core/useAction";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";
import styles from "./ImportForm.module.css";

type FileProps = {
  label: string;
  description?: string;
  /** What its name may end with. */
  endings: string[];
  busy?: boolean;
  onPick: (file: string) => void;
};

/** The path of a file to import from, typed or chosen in the system's dialog. */
export function ImportFileField({ label, description, endings, busy = false, onPick }: FileProps) {
  const t = useMessages();
  const { platform } = useCore();
  const [path, setPath] = useState("");
  const choose = () => {
    platform.pickFile(endings).then(
      (file) => {
        if (file !== null) onPick(file);
      },
      (thrown: unknown) => {
        showError(toUserError(thrown));
      },
    );
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (path.trim() !== "") onPick(path.trim());
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          className={styles.path}
          label={label}
          description={description}
          spellCheck={false}
          value={path}
          onChange={(event) => {
            setPath(event.currentTarget.value);
          }}
        />
        <Button variant="default" onClick={choose}>
          {t("bundles.choose")}
        </Button>
        <Button type="submit" variant="default" loading={busy} disabled={path.trim() === ""}>
          {t("imports.openFile")}
        </Button>
      </Group>
    </form>
  );
}

type FormProps = {
  /** What is imported from, where it is a file. */
  file: string | null;
  error: UserError | null;
  busy: boolean;
  /** What to know while it runs. */
  running?: string;
  canRun: boolean;
  /** What the button says. */
  run: string;
  onRun: () => Promise<void>;
  onBack: () => void;
  children: ReactNode;
};

/** A checklist of what is imported, with its buttons, which stay in sight. */
export function ImportForm({ file, error, busy, running, canRun, run, onRun, onBack, children }: FormProps) {
  const t = useMessages();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onRun();
      }}
    >
      <Stack gap="sm">
        {file !== null && <p className={styles.file}>{file}</p>}
        {children}
        {error && <ErrorAlert error={error} />}
        {busy && running !== undefined && (
          <p role="status" className="dim">
            {running}
          </p>
        )}
        <DialogFoot spread>
          <Button variant="default" onClick={onBack}>
            {t("imports.back")}
          </Button>
          <Button type="submit" loading={busy} disabled={!canRun}>
            {run}
          </Button>
        </DialogFoot>
      </Stack>
    </form>
  );
}
