// What is in the dialogs of the vault: fetched when one is opened, and gone when it is closed, passphrases
// first of all.

import { Button, PasswordInput, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { useMessages } from "../messages";
import type { VaultFault } from "../platform";
import type { VaultDialog } from "./useVaultDialog";
import { NewPassphrase } from "./NewPassphraseForm";
import { taken } from "./passphrase";
import { VaultFaultAlert } from "./UnlockScreen";
import { UnlockForm } from "./UnlockForm";
import { useVault } from "./useVault";

type Props = { dialog: VaultDialog; onClose: () => void };

/** The form of a dialog. */
export function VaultForm({ dialog, onClose }: Props) {
  switch (dialog) {
    case "make":
      return <Make onClose={onClose} />;
    case "unlock":
      return <UnlockNow onClose={onClose} />;
    case "change":
      return <Change onClose={onClose} />;
  }
}

type Part = { onClose: () => void };

function said(message: string) {
  notifications.show({ message, color: "teal", autoClose: 3000 });
}

function Make({ onClose }: Part) {
  const t = useMessages();
  const { platform } = useCore();
  const { readAgain } = useVault();
  const make = async (passphrase: string) => {
    await platform.makeVault(passphrase);
    await readAgain();
    said(t("vault.made"));
    return true;
  };
  return (
    <NewPassphrase ok={t("vault.make")} onOk={make} onClose={onClose}>
      <Text>{t("vault.makeText")}</Text>
      <Text size="sm" c="dimmed">
        {t("vault.restart")}
      </Text>
    </NewPassphrase>
  );
}

function UnlockNow({ onClose }: Part) {
  const t = useMessages();
  const { vault, readAgain } = useVault();
  const [fault, setFault] = useState<VaultFault | null>(null);
  const opened = async () => {
    await readAgain();
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
            {t("frame.cancel")}
          </Button>
        )}
      </UnlockForm>
    </>
  );
}

function Change({ onClose }: Part) {
  const t = useMessages();
  const { platform } = useCore();
  const { vault } = useVault();
  const old = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const [fault, setFault] = useState<VaultFault | null>(null);
  const change = async (passphrase: string) => {
    const [before = ""] = taken(old);
    const tried = await platform.changePassphrase(before, passphrase);
    setWrong(tried === "wrong");
    if (tried === "wrong") old.current?.focus();
    else if (tried !== "right") setFault(tried);
    else said(t("vault.changed"));
    return tried === "right";
  };
  return (
    <NewPassphrase ok={t("vault.changeOk")} onOk={change} onClose={onClose}>
      {fault !== null && <VaultFaultAlert fault={fault} file={vault?.file ?? ""} />}
      <Text size="sm">{t("vault.changeText")}</Text>
      <PasswordInput
        ref={old}
        label={t("vault.oldPassphrase")}
        autoComplete="off"
        spellCheck={false}
        error={wrong ? t("vault.wrong") : null}
      />
    </NewPassphrase>
  );
}
