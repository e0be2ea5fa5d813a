import { Select, TextInput } from "@mantine/core";

import { useMessages } from "../messages";
import type { FormFaults, ServerForm } from "./serverForm";
import { CommandPreview } from "./CommandPreview";

type Props = {
  form: ServerForm;
  said: (key: keyof FormFaults) => string | null;
  onChange: (change: Partial<ServerForm>) => void;
};

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
        data={(["auto", "http", "sse", "ws"] as const).map((value) => ({
          value,
          label: t(`servers.form.remote.${value}`),
        }))}
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
      <CommandPreview line={form.headersFrom} />
    </div>
  );
}
