import { Select, TextInput } from "@mantine/core";

import { useMessages } from "../messages";
import type { Faults, Form } from "./serverForm";
import { CommandWords } from "./CommandPreview";

type Props = { form: Form; said: (key: keyof Faults) => string | null; onChange: (change: Partial<Form>) => void };

/** Where a remote server is, and what it speaks there. */
export function RemoteFields({ form, said, onChange }: Props) {
  const t = useMessages();
  return (
    <>
      <TextInput
        label={t("servers.form.url")}
        placeholder={form.remote === "ws" ? "wss://" : "https://"}
        spellCheck={false}
        value={form.url}
        error={said("url")}
        onChange={(event) => {
          onChange({ url: event.currentTarget.value });
        }}
      />
      <Select
        label={t("servers.form.remote")}
        allowDeselect={false}
        data={(["auto", "http", "sse", "ws"] as const).map((value) => ({ value, label: t(`servers.form.remote.${value}`) }))}
        value={form.remote}
        onChange={(remote) => {
          if (remote !== null) onChange({ remote });
        }}
      />
    </>
  );
}

/** A program that prints headers. */
export function HeadersFrom({ form, said, onChange }: Props) {
  const t = useMessages();
  return (
    <div>
      <TextInput
        label={t("servers.form.headersFrom")}
        description={t("servers.form.headersFromHint")}
        classNames={{ input: "mono" }}
        spellCheck={false}
        value={form.headersFrom}
        error={said("headersFrom")}
        onChange={(event) => {
          onChange({ headersFrom: event.currentTarget.value });
        }}
      />
      <CommandWords line={form.headersFrom} />
    </div>
  );
}
