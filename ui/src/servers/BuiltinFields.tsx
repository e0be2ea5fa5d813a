import { Select, Switch, TextInput } from "@mantine/core";

import { useMessages } from "../messages";
import type { FormFaults, ServerForm } from "./serverForm";

type Props = {
  form: ServerForm;
  said: (key: keyof FormFaults) => string | null;
  onChange: (change: Partial<ServerForm>) => void;
};

/** Which of the servers inside Gatehouse, and what it may reach. */
export function BuiltinFields({ form, said, onChange }: Props) {
  const t = useMessages();
  return (
    <>
      <Select
        label={t("servers.form.builtinWhich")}
        allowDeselect={false}
        data={(["files", "fetch", "time", "notes"] as const).map((value) => ({
          value,
          label: t(`servers.form.${value}`),
        }))}
        value={form.builtin}
        onChange={(builtin) => {
          if (builtin !== null) onChange({ builtin });
        }}
      />
      {form.builtin === "files" && (
        <TextInput
          label={t("servers.form.folder")}
          value={form.folder}
          error={said("folder")}
          onChange={(event) => {
            onChange({ folder: event.currentTarget.value });
          }}
        />
      )}
      {form.builtin === "fetch" && (
        <Switch
          label={t("servers.form.allowPrivate")}
          description={t("servers.form.allowPrivateHint")}
          checked={form.allowPrivate}
          onChange={(event) => {
            onChange({ allowPrivate: event.currentTarget.checked });
          }}
        />
      )}
    </>
  );
}
