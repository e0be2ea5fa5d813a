import { Button, Group, Stack } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";

import { useAction } from "../core/useAction";
import type { Problem, ServerConfig } from "../gen/types";
import { useMessages } from "../messages";
import { ProblemAlert } from "../parts/ProblemAlert";
import { asProblem } from "../platform";
import { faults, fromConfig, toDraft, type Form } from "./form";
import { ServerFields } from "./ServerFields";

/** The settings of a server. It reconnects only when the connection is another one. */
export function SettingsTab({ config, taken }: { config: ServerConfig; taken: readonly string[] }) {
  const t = useMessages();
  const before = fromConfig(config);
  const [edited, setEdited] = useState<Form | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const edit = useAction("servers.edit");
  const form = edited ?? before;
  if (!form) return <pre className="mono selectable">{JSON.stringify(config.transport, null, 2)}</pre>;
  const wrong = faults(form, taken);
  const save = () => {
    setProblem(null);
    edit.ask({ server: config.id, ...toDraft(form, config) }).then(
      () => {
        setEdited(null);
        notifications.show({ message: t("servers.form.saved"), color: "teal", autoClose: 2000 });
      },
      (thrown: unknown) => {
        setProblem(asProblem(thrown));
      },
    );
  };
  return (
    <form
      className="tab-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(wrong).length === 0) save();
      }}
    >
      <Stack gap="md">
        <ServerFields
          form={form}
          faults={edited ? wrong : {}}
          onChange={(change) => {
            setEdited({ ...form, ...change });
          }}
        />
        {problem && <ProblemAlert problem={problem} />}
        <Group justify="flex-end" gap="xs">
          {edited && (
            <Button
              variant="default"
              onClick={() => {
                setEdited(null);
                setProblem(null);
              }}
            >
              {t("frame.cancel")}
            </Button>
          )}
          <Button type="submit" disabled={!edited} loading={edit.busy}>
            {t("servers.form.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
