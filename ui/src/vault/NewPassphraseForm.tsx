import { Button, Group, PasswordInput, Stack } from "@mantine/core";
import { useRef, useState, type ReactNode } from "react";

import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { ErrorAlert } from "../components/ErrorAlert";
import { toUserError } from "../platform";
import { validatePassphrase, takeValues, type PassphraseFault, type Field } from "./passphrase";

type Props = {
  /** What is to be known before. */
  children: ReactNode;
  ok: string;
  /** Takes the new passphrase, and answers whether it is done. What it throws is shown. */
  onOk: (passphrase: string) => Promise<boolean>;
  onClose: () => void;
};

/** A new passphrase, entered twice, in a dialog. */
export function NewPassphraseForm({ children, ok, onOk, onClose }: Props) {
  const t = useMessages();
  const first: Field = useRef<HTMLInputElement>(null);
  const second: Field = useRef<HTMLInputElement>(null);
  const [fault, setFault] = useState<PassphraseFault | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<UserError | null>(null);
  const send = async () => {
    const wrong = validatePassphrase(first.current?.value ?? "", second.current?.value ?? "");
    setFault(wrong);
    setError(null);
    if (wrong !== null) {
      (wrong === "short" ? first : second).current?.focus();
      return;
    }
    const [passphrase = ""] = takeValues(first, second);
    setBusy(true);
    try {
      if (await onOk(passphrase)) onClose();
    } catch (thrown) {
      setError(toUserError(thrown));
    }
    setBusy(false);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Stack gap="sm">
        {children}
        {error && <ErrorAlert error={error} />}
        <PasswordInput
          ref={first}
          label={t("vault.newPassphrase")}
          description={t("vault.short")}
          autoComplete="off"
          spellCheck={false}
          disabled={busy}
          error={fault === "short" ? t("vault.short") : null}
        />
        <PasswordInput
          ref={second}
          label={t("vault.again")}
          autoComplete="off"
          spellCheck={false}
          disabled={busy}
          error={fault === "different" ? t("vault.different") : null}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" disabled={busy} onClick={onClose}>
            {t("appShell.cancel")}
          </Button>
          <Button type="submit" loading={busy}>
            {ok}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
