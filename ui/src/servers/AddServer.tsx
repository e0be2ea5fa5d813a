import { Button, Group, Loader, Modal, Stack, Textarea } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import type { Problem } from "../gen/types";
import { useMessages } from "../messages";
import { ProblemAlert } from "../parts/ProblemAlert";
import { asProblem } from "../platform";
import { emptyForm, faults, recognise, toDraft, type Form } from "./form";
import { ServerFields } from "./ServerFields";
import { TestResult } from "./TestResult";
import { useTest } from "./useTest";

type Props = { opened: boolean; taken: readonly string[]; onClose: () => void };

/** The dialog that adds a server. What is in it is gone when it is closed, secrets first of all. */
export function AddServer({ opened, taken, onClose }: Props) {
  const t = useMessages();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("servers.form.add")}
      size="lg"
    >
      {opened && <AddForm taken={taken} onClose={onClose} />}
    </Modal>
  );
}

function AddForm({ taken, onClose }: Omit<Props, "opened">) {
  const t = useMessages();
  const [pasted, setPasted] = useState("");
  const [form, setForm] = useState<Form>(emptyForm);
  const [tried, setTried] = useState(false);
  const [trust, setTrust] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { test, run, forget } = useTest();
  const add = useAction("servers.add");
  const wrong = faults(form, taken);
  const isRight = Object.keys(wrong).length === 0;

  const change = (part: Partial<Form>) => {
    setForm((before) => ({ ...before, ...part }));
    setProblem(null);
    setTrust(false);
    forget();
  };
  const paste = (text: string) => {
    setPasted(text);
    const found = recognise(text);
    if (found) change(found);
  };
  const begin = (act: () => void) => {
    setTried(true);
    setProblem(null);
    if (isRight) act();
  };
  const { draft, secrets } = toDraft(form);
  const save = () => {
    add.ask({ draft, secrets, trustLabels: trust }).then(onClose, (thrown: unknown) => {
      setProblem(asProblem(thrown));
    });
  };
  const failed = problem ?? test.problem;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        begin(save);
      }}
    >
      <Stack gap="md">
        <Textarea
          label={t("servers.form.paste")}
          placeholder={t("servers.form.pasteHint")}
          autosize={false}
          rows={2}
          spellCheck={false}
          data-autofocus
          value={pasted}
          onChange={(event) => {
            paste(event.currentTarget.value);
          }}
        />
        <ServerFields form={form} faults={tried ? wrong : {}} onChange={change} />
        {test.report && <TestResult report={test.report} trust={trust} onTrust={setTrust} />}
        {failed && <ProblemAlert problem={failed} />}
        <Group justify="space-between">
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
                begin(() => void run(draft, secrets));
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
