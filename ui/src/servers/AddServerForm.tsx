import { Button, Group, Loader, Stack } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import {
  emptyServerForm,
  appearanceFields,
  faultsOf,
  formSyntax,
  toDraft,
  toValidation,
  type ServerForm,
} from "./serverForm";
import { PasteBox } from "./PasteBox";
import { fillForm } from "./pastedText";
import { ServerFields } from "./ServerFields";
import { ConnectionTestResult } from "./ConnectionTestResult";
import { focusFirstInvalidField } from "./focusFirstInvalidField";
import { useConnectionTest } from "./useConnectionTest";
import { useServerValidation } from "./useServerValidation";
import styles from "./AddServerForm.module.css";

type Props = { onClose: () => void };

/** The form for a new server, with a connection test. */
export function AddServerForm({ onClose }: Props) {
  const t = useMessages();
  const [form, setForm] = useState<ServerForm>(emptyServerForm);
  /** How often something was wanted of a form with faults. */
  const [tried, setTried] = useState(0);
  const [trust, setTrust] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  const { test, run, forget } = useConnectionTest();
  const add = useAction("servers.add");
  const fields = useRef<HTMLFormElement>(null);
  const outcome = useRef<HTMLDivElement>(null);
  const { report, validate } = useServerValidation(toValidation(form));
  const syntax = formSyntax(form);
  const wrong = { ...faultsOf(report?.problems ?? []), ...syntax };
  const failed = error ?? test.error;

  useEffect(() => {
    if (tried > 0) focusFirstInvalidField(fields.current);
  }, [tried]);
  useEffect(() => {
    if (test.report !== null || failed !== null) outcome.current?.scrollIntoView({ block: "end" });
  }, [test.report, failed]);

  const change = (part: Partial<ServerForm>) => {
    setForm((before) => ({ ...before, ...part }));
    setError(null);
    if (Object.keys(part).every((key) => appearanceFields.some((look) => look === key))) return;
    setTrust(false);
    forget();
  };
  const begin = (act: () => void) => {
    setError(null);
    validate().then(
      ({ problems }) => {
        if (Object.keys({ ...faultsOf(problems), ...syntax }).length === 0) act();
        else setTried((before) => before + 1);
      },
      (thrown: unknown) => {
        setError(toUserError(thrown));
      },
    );
  };
  const { draft, secrets } = toDraft(form);
  const save = () => {
    add.request({ draft, secrets, trustLabels: trust }).then(onClose, (thrown: unknown) => {
      setError(toUserError(thrown));
    });
  };
  return (
    <form
      ref={fields}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        begin(save);
      }}
    >
      <Stack gap="md">
        <PasteBox
          onFound={({ found }, namedBefore) => {
            change(fillForm(form, found, namedBefore));
          }}
        />
        <ServerFields form={form} faults={tried > 0 ? wrong : {}} onChange={change} />
        <div ref={outcome} className={styles.outcome}>
          {test.report && <ConnectionTestResult report={test.report} trust={trust} onTrust={setTrust} />}
          {failed && <ErrorAlert error={failed} />}
        </div>
        <Group justify="space-between" className={styles.foot}>
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
              onClick={() => {
                begin(() => {
                  setTrust(false);
                  void run(draft, secrets);
                });
              }}
            >
              {t("servers.form.test")}
            </Button>
          )}
          <Group gap="xs">
            <Button variant="default" onClick={onClose}>
              {t("appShell.cancel")}
            </Button>
            <Button type="submit" loading={add.busy}>
              {t("servers.add")}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}
