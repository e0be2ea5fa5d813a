import { Alert, Button, Group, Loader, Stack } from "@mantine/core";
import { IconLink } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";

import { keepPageState, pageStateOf } from "../core/pageState";
import { useAction } from "../core/useAction";
import { useNamedRun } from "../core/useNamedRun";
import type { ImportOrigin, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { DialogFoot } from "../components/DialogFoot";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import {
  emptyServerForm,
  appearanceFields,
  filledForm,
  toDraft,
  withoutSecrets,
  type FilledServer,
  type ServerForm,
} from "./serverForm";
import { PasteBox } from "./PasteBox";
import { fillForm } from "./pastedText";
import { ServerFields } from "./ServerFields";
import { ConnectionTestResult } from "./ConnectionTestResult";
import { useConnectionTest } from "./useConnectionTest";
import { useFormValidation } from "./useFormValidation";
import { useLinkGuard } from "./useLinkGuard";
import styles from "./AddServerForm.module.css";

type Props = {
  onClose: () => void;
  /** What the form begins with; it is empty where absent. */
  filled?: FilledServer | null;
  /** Shows the servers of settings that the form alone can't take over. */
  onImport: (from: ImportOrigin) => void;
};

/** Name of the unfinished form in what outlives the window. */
const UNFINISHED = "servers.form";

/** The form for a new server, with a connection test. It is still there, without secrets, if the window is closed meanwhile. */
export function AddServerForm({ onClose, filled = null, onImport }: Props) {
  const t = useMessages();
  const [form, setForm] = useState<ServerForm>(() =>
    filled === null ? pageStateOf(UNFINISHED, emptyServerForm) : filledForm(filled),
  );
  const [trust, setTrust] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  const { test, run, forget } = useConnectionTest();
  const add = useAction("servers.add");
  const { begin: beginAdding, stop: stopAdding } = useNamedRun();
  const fields = useRef<HTMLFormElement>(null);
  const outcome = useRef<HTMLDivElement>(null);
  const { faults, formError, wasRefused, pending, begin } = useFormValidation<"add" | "test">(form, fields);
  const takesPresses = useLinkGuard(filled?.link !== undefined);
  const failed = error ?? (wasRefused ? formError : null) ?? test.error;

  useEffect(() => {
    if (test.report !== null || failed !== null) outcome.current?.scrollIntoView({ block: "end" });
  }, [test.report, failed]);

  // What a link filled in must not come back without the word that a link did.
  const isKept = filled?.link === undefined;
  useEffect(() => {
    if (isKept) keepPageState(UNFINISHED, form === emptyServerForm ? undefined : withoutSecrets(form));
  }, [form, isKept]);
  useEffect(
    () => () => {
      keepPageState(UNFINISHED, undefined);
    },
    [],
  );

  const change = (part: Partial<ServerForm>) => {
    setForm((before) => ({ ...before, ...part }));
    setError(null);
    if (Object.keys(part).every((key) => appearanceFields.some((look) => look === key))) return;
    setTrust(false);
    forget();
  };
  const { draft, secrets } = toDraft(form);
  const failedWith = (thrown: unknown) => {
    const why = toUserError(thrown);
    setError(why.code === "cancelled" ? null : why);
  };
  const save = () => {
    setError(null);
    const adding = () =>
      beginAdding((run) => add.request({ draft, secrets, trustLabels: trust, run })).then(onClose, failedWith);
    void begin("add", adding, failedWith);
  };
  const tryConnection = () => {
    setError(null);
    const start = () => {
      setTrust(false);
      void run(draft, secrets);
    };
    void begin("test", start, failedWith);
  };
  return (
    <form
      ref={fields}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (takesPresses) save();
      }}
    >
      <Stack gap="md">
        {filled?.link !== undefined && (
          <Alert color="orange" role="status" icon={<IconLink size={18} aria-hidden />}>
            {t("servers.form.fromLink")} {filled.link.hadSecrets && t("servers.form.linkSecrets")}
          </Alert>
        )}
        <PasteBox
          onFound={({ found }, namedBefore) => {
            change({ ...fillForm(form, found, namedBefore), registry: null });
          }}
          onSettings={(text) => {
            onImport({ text });
          }}
        />
        <ServerFields form={form} faults={wasRefused ? faults : {}} onChange={change} />
        <div ref={outcome} className={styles.outcome}>
          {test.report && <ConnectionTestResult report={test.report} trust={trust} onTrust={setTrust} />}
          {failed && <ErrorAlert error={failed} />}
        </div>
        <DialogFoot spread>
          {test.running ? (
            <Group gap="xs" role="status">
              <Loader size="xs" />
              {t("servers.form.testing")}
              <Button size="xs" variant="default" onClick={forget}>
                {t("servers.form.stopTest")}
              </Button>
            </Group>
          ) : (
            <Button
              variant="default"
              disabled={pending === "add" || !takesPresses}
              loading={pending === "test"}
              onClick={tryConnection}
            >
              {t("servers.form.test")}
            </Button>
          )}
          <Group gap="xs">
            <Button
              variant="default"
              onClick={() => {
                if (!stopAdding()) onClose();
              }}
            >
              {t("appShell.cancel")}
            </Button>
            <Button type="submit" disabled={pending === "test" || !takesPresses} loading={pending === "add"}>
              {t("servers.add")}
            </Button>
          </Group>
        </DialogFoot>
      </Stack>
    </form>
  );
}
