import { Alert, Button, Group, Text, Title } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import clsx from "clsx";
import { useState } from "react";

import { useCore } from "../core/CoreProvider";
import { showError } from "../core/useAction";
import { useMessages } from "../messages";
import { Logo } from "../components/Logo";
import { toUserError, type Vault, type VaultFault } from "../platform";
import { UnlockForm } from "./UnlockForm";
import styles from "./UnlockScreen.module.css";

type Props = { vault: Vault; onChange: () => Promise<void> };

/** The unlock screen of the vault. */
export function UnlockScreen({ vault, onChange }: Props) {
  const t = useMessages();
  const { platform } = useCore();
  const [found, setFound] = useState<VaultFault | null>(null);
  const [leaving, setLeaving] = useState(false);
  const fault = vault.fault ?? found;
  const leave = async (how: () => Promise<void>, failed: (thrown: unknown) => void) => {
    setLeaving(true);
    await how().catch(failed);
    await onChange();
    setLeaving(false);
  };
  const putAside = () =>
    leave(
      () => platform.putVaultAside(),
      (thrown) => {
        showError(toUserError(thrown));
      },
    );
  const lookAgain = async () => {
    // What it comes to is read with everything else; what was found before stands until then.
    await leave(
      () => platform.startAgain(),
      () => undefined,
    );
    setFound(null);
  };
  const memory = (busy: boolean) => (
    <Button variant="subtle" color="gray" disabled={busy} loading={leaving} onClick={() => void putAside()}>
      {t("vault.memoryThisTime")}
    </Button>
  );
  return (
    <main className={styles.screen}>
      <div className={styles.body}>
        <Logo size={40} />
        <Title order={1} size="h2">
          {t("vault.unlockTitle")}
        </Title>
        <Text c="dimmed">{t("vault.unlockText")}</Text>
        {fault === null ? (
          <UnlockForm onOpened={() => void onChange()} onFault={setFound}>
            {memory}
          </UnlockForm>
        ) : (
          <>
            <VaultFaultAlert fault={fault} file={vault.file} />
            <Group justify="flex-end" gap="xs">
              {memory(false)}
              <Button loading={leaving} onClick={() => void lookAgain()}>
                {t("appShell.again")}
              </Button>
            </Group>
          </>
        )}
        <Text c="dimmed" size="sm">
          {t("vault.memoryThisTimeText")}
        </Text>
      </div>
    </main>
  );
}

/** Why no passphrase can open the vault, and what to do. */
export function VaultFaultAlert({ fault, file }: { fault: VaultFault; file: string }) {
  const t = useMessages();
  return (
    <Alert color="red" role="alert" title={t(`vault.${fault}`)} icon={<IconAlertTriangle size={18} aria-hidden />}>
      <Text size="sm">{t(`vault.${fault}Text`)}</Text>
      <Text size="sm" mt={4}>
        {t("vault.file")}: <code className={clsx("mono", "selectable", styles.file)}>{file}</code>
      </Text>
    </Alert>
  );
}
