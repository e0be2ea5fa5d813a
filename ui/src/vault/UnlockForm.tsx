import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { useEffect, useRef, useState, type ReactNode } from "react";

import { useCore } from "../core/CoreProvider";
import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError, type VaultFault } from "../platform";
import { takeValues } from "./passphrase";

type Props = {
  /** Called once the vault is open. */
  onOpened: () => void;
  /** Called when it turns out that no passphrase can open it. */
  onFault: (fault: VaultFault) => void;
  /** What can be done instead. */
  children: (busy: boolean) => ReactNode;
};

/** The field for the passphrase of the vault. */
export function UnlockForm({ onOpened, onFault, children }: Props) {
  const t = useMessages();
  const { platform } = useCore();
  const field = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  // Without the keyboard while it is looked at: the field takes it back with what was wrong.
  useEffect(() => {
    if (!busy) field.current?.focus();
  }, [busy]);
  const unlock = async () => {
    const [passphrase = ""] = takeValues(field);
    setBusy(true);
    setError(null);
    try {
      const tried = await platform.unlockVault(passphrase);
      setWrong(tried === "wrong");
      if (tried === "right") onOpened();
      else if (tried !== "wrong") onFault(tried);
    } catch (thrown) {
      setWrong(false);
      setError(toUserError(thrown));
    }
    setBusy(false);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void unlock();
      }}
    >
      <Stack gap="sm">
        {error && <ErrorAlert error={error} />}
        <PasswordInput
          ref={field}
          label={t("vault.passphrase")}
          autoComplete="off"
          spellCheck={false}
          disabled={busy}
          error={wrong ? t("vault.wrong") : null}
        />
        <Group justify="flex-end" gap="xs">
          {children(busy)}
          <Button type="submit" loading={busy}>
            {t("vault.unlock")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
