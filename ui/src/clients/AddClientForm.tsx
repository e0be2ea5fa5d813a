import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useState } from "react";

import { keepPageState, usePageState } from "../core/pageState";
import { useAction } from "../core/useAction";
import type { MintedClient, UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";

type Props = {
  /** Name under which the entered name is kept until the client is there. */
  formName: string;
  onMinted: (minted: MintedClient) => void;
  /** Absent where the form can be left in another way. */
  onCancel?: () => void;
};

/** Adds a client that connects with a token. */
export function AddClientForm({ formName, onMinted, onCancel }: Props) {
  const t = useMessages();
  const [name, setName] = usePageState(formName, "");
  const [error, setError] = useState<UserError | null>(null);
  const add = useAction("clients.add");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setError(null);
        add.request({ name: name.trim() }).then(
          (minted) => {
            keepPageState(formName, undefined);
            onMinted(minted);
          },
          (thrown: unknown) => {
            setError(toUserError(thrown));
          },
        );
      }}
    >
      <Stack gap="md">
        <TextInput
          label={t("clients.name")}
          description={t("clients.nameHint")}
          data-autofocus
          required
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setError(null);
          }}
        />
        {error && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              {t("appShell.cancel")}
            </Button>
          )}
          <Button
            type="submit"
            variant={onCancel ? "filled" : "default"}
            loading={add.busy}
            disabled={name.trim() === ""}
          >
            {t("clients.create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
