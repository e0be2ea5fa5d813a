import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";

import { useAction } from "../core/useAction";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { CopyButton } from "../components/CopyButton";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";

type Props = {
  opened: boolean;
  server: string;
  /** Where the user signs in, where it is known. */
  address: string | null;
  onClose: () => void;
};

/** A dialog for the callback URL of a browser that can't reach this computer. */
export function PasteCallbackDialog({ opened, server, address, onClose }: Props) {
  const t = useMessages();
  return (
    <Modal opened={opened} onClose={onClose} title={t("servers.signIn.paste")}>
      {opened && <Field server={server} address={address} onClose={onClose} />}
    </Modal>
  );
}

function Field({ server, address, onClose }: Omit<Props, "opened">) {
  const t = useMessages();
  const paste = useAction("servers.pasteAddress");
  const [pasted, setPasted] = useState("");
  const [error, setError] = useState<UserError | null>(null);
  const wanted = pasted.trim();
  const send = () => {
    setError(null);
    paste.request({ server, address: wanted }).then(onClose, (thrown: unknown) => {
      setError(toUserError(thrown));
    });
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (wanted !== "" && !paste.busy) send();
      }}
    >
      <Stack gap="sm">
        <Text size="sm">{t("servers.signIn.pasteText")}</Text>
        {address !== null && (
          <Group gap="xs" justify="space-between" wrap="nowrap">
            <Text size="sm">{t("servers.signIn.otherBrowser")}</Text>
            <CopyButton text={address} label={t("servers.signIn.copyAddress")} />
          </Group>
        )}
        <TextInput
          label={t("servers.signIn.pasteField")}
          placeholder="http://127.0.0.1:…/…?code=…"
          classNames={{ input: "mono" }}
          spellCheck={false}
          autoComplete="off"
          data-autofocus
          value={pasted}
          onChange={(event) => {
            setPasted(event.currentTarget.value);
          }}
        />
        {error && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" disabled={wanted === ""} loading={paste.busy}>
            {t("servers.signIn.pasteOk")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
