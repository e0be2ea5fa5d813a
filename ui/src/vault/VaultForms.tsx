// What is in the dialogs of the vault: fetched when one is opened, and gone when it is closed, passphrases
// first of all.

import { Button, PasswordInput, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useMessages } from "../messages";
import type { VaultFault } from "../platform";
import type { VaultDialog } from "./useVaultDialog";
import { NewPassphraseForm } from "./NewPassphraseForm";
import { takeValues } from "./passphrase";
import { VaultFaultAlert } from "./UnlockScreen";
import { UnlockForm } from "./UnlockForm";
import { useVault } from "./useVault";

type Props = { dialog: VaultDialog; onClose: () => void };

/** The form of a dialog. */
export function VaultForm({ dialog, onClose }: Props) {
  switch (dialog) {
    case "make":
      return <CreateVaultForm onClose={onClose} />;
    case "unlock":
      return <UnlockVaultForm onClose={onClose} />;
    case "change":
      return <ChangePassphraseForm onClose={onClose} />;
  }
}

type Part = { onClose: () => void };

function said(message: string) {
  notifications.show({ message, color: "teal", autoClose: 3000 });
}

function CreateVaultForm({ onClose }: Part) {
  const t = useMessages();
  const { platform } = useCore();
  const { refetch } = useVault();
  const make = async (passphrase: string) => {
    await platform.makeVault(passphrase);
    await refetch();
    said(t("vault.made"));
    return true;
  };
  return (
    <NewPassphraseForm ok={t("vault.make")} onOk={make} onClose={onClose}>
      <Text>{t("vault.makeText")}</Text>
      <Text size="sm" c="dimmed">
        {t("vault.restart")}
      </Text>
    </NewPassphraseForm>
  );
}

function UnlockVaultForm({ onClose }: Part) {
  const t = useMessages();
  const { vault, refetch } = useVault();
  const [fault, setFault] = useState<VaultFault | null>(null);
  const opened = async () => {
    await refetch();
    said(t("vault.opened"));
    onClose();
  };
  if (fault !== null) return <VaultFaultAlert fault={fault} file={vault?.file ?? ""} />;
  return (
    <>
      <Text mb="sm">{t("vault.restartOpen")}</Text>
      <UnlockForm onOpened={() => void opened()} onFault={setFault}>
        {(busy) => (
          <Button variant="default" disabled={busy} onClick={onClose}>
            {t("appShell.cancel")}
          </Button>
        )}
      </UnlockForm>
    </>
  );
}

function ChangePassphraseForm({ onClose }: Part) {
  const t = useMessages();
  const { platform } = useCore();
  const { vault } = useVault();
  const old = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const [fault, setFault] = useState<VaultFault | null>(null);
  const change = async (passphrase: string) => {
    const [before = ""] = takeValues(old);
    const tried = await platform.changePassphrase(before, passphrase);
    setWrong(tried === "wrong");
    if (tried === "wrong") old.current?.focus();
    else if (tried !== "right") setFault(tried);
    else said(t("vault.changed"));
    return tried === "right";
  };
  return (
    <NewPassphraseForm ok={t("vault.changeOk")} onOk={change} onClose={onClose}>
      {fault !== null && <VaultFaultAlert fault={fault} file={vault?.file ?? ""} />}
      <Text size="sm">{t("vault.changeText")}</Text>
      <PasswordInput
        ref={old}
        label={t("vault.oldPassphrase")}
        autoComplete="off"
        spellCheck={false}
        error={wrong ? t("vault.wrong") : null}
      />
    </NewPassphraseForm>
  );
}
