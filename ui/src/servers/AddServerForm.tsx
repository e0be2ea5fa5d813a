import { Button, Group, Loader, Stack } from "@mantine/core";
import { useEffect, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ProblemAlert } from "../components/ErrorAlert";
import { asProblem } from "../platform";
import { emptyForm, faults, looks, toDraft, type Form } from "./serverForm";
import { PasteBox } from "./PasteBox";
import { fillForm } from "./recognise";
import { ServerFields } from "./ServerFields";
import { TestResult } from "./ConnectionTestResult";
import { toFirstFault } from "./focusFirstInvalidField";
import { useTest } from "./useConnectionTest";

type Props = { taken: readonly string[]; onClose: () => void };

/** The form of a server that is to be added, with the test of its connection. */
export function AddForm({ taken, onClose }: Props) {
  const t = useMessages();
  const [form, setForm] = useState<Form>(emptyForm);
  /** How often something was wanted of a form with faults. */
  const [tried, setTried] = useState(0);
  const [trust, setTrust] = useState(false);
  const [problem, setProblem] = useState<UserError | null>(null);
  const { test, run, forget } = useTest();
  const add = useAction("servers.add");
  const fields = useRef<HTMLFormElement>(null);
  const outcome = useRef<HTMLDivElement>(null);
  const wrong = faults(form, taken);
  const failed = problem ?? test.problem;

  useEffect(() => {
    if (tried > 0) toFirstFault(fields.current);
  }, [tried]);
  useEffect(() => {
    if (test.report !== null || failed !== null) outcome.current?.scrollIntoView({ block: "end" });
  }, [test.report, failed]);

  const change = (part: Partial<Form>) => {
    setForm((before) => ({ ...before, ...part }));
    setProblem(null);
    if (Object.keys(part).every((key) => looks.some((look) => look === key))) return;
    setTrust(false);
    forget();
  };
  const begin = (act: () => void) => {
    setProblem(null);
    if (Object.keys(wrong).length === 0) act();
    else setTried(tried + 1);
  };
  const { draft, secrets } = toDraft(form);
  const save = () => {
    add.ask({ draft, secrets, trustLabels: trust }).then(onClose, (thrown: unknown) => {
      setProblem(asProblem(thrown));
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
        <div ref={outcome} className="outcome">
          {test.report && <TestResult report={test.report} trust={trust} onTrust={setTrust} />}
          {failed && <ProblemAlert problem={failed} />}
        </div>
        <Group justify="space-between" className="form-foot">
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
              {t("frame.cancel")}
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
