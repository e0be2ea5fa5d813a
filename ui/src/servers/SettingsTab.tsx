import { Button, Group, Stack } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useRef, useState } from "react";

import { useAction } from "../core/useAction";
import { useReading } from "../core/useReading";
import type { Problem, ServerConfig } from "../gen/types";
import { useMessages } from "../messages";
import { ProblemAlert } from "../parts/ProblemAlert";
import { asProblem } from "../platform";
import { faults, fromConfig, toDraft, type Form } from "./form";
import { ServerFields } from "./ServerFields";
import { toFirstFault } from "./toFirstFault";

type Props = { config: ServerConfig; taken: readonly string[]; onRemove: () => void };

/** The settings of a server. It reconnects only when the connection is another one. */
export function SettingsTab({ config, taken, onRemove }: Props) {
  const t = useMessages();
  const [edited, setEdited] = useState<Form | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const edit = useAction("servers.edit");
  // A change of looks alone makes no event.
  const { readAgain } = useReading("servers.list", {});
  const fields = useRef<HTMLFormElement>(null);
  const form = edited ?? fromConfig(config);
  const wrong = faults(form, taken, config);
  const save = () => {
    setProblem(null);
    edit.ask({ server: config.id, ...toDraft(form, config) }).then(
      () => {
        setEdited(null);
        readAgain();
        notifications.show({ message: t("servers.form.saved"), color: "teal", autoClose: 2000 });
      },
      (thrown: unknown) => {
        setProblem(asProblem(thrown));
      },
    );
  };
  return (
    <form
      ref={fields}
      noValidate
      className="tab-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(wrong).length === 0) save();
        else toFirstFault(fields.current);
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
        <Group justify="space-between" gap="xs">
          <Button variant="subtle" color="red" onClick={onRemove}>
            {t("servers.removeThis")}
          </Button>
          <Group gap="xs">
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
        </Group>
      </Stack>
    </form>
  );
}
