import { Modal } from "@mantine/core";
import { Suspense, useState } from "react";

import { useMessages } from "../messages";
import { lazyWithPrefetch } from "../components/lazyWithPrefetch";
import { LoadingIndicator } from "../components/LoadingIndicator";

export type VaultDialog = "make" | "unlock" | "change";

const VaultForm = lazyWithPrefetch(async () => (await import("./VaultForms")).VaultForm);

/** One dialog of the vault, and the way to open it. */
export function useVaultDialog(dialog: VaultDialog) {
  const t = useMessages();
  const [opened, setOpened] = useState(false);
  const close = () => {
    setOpened(false);
  };
  return {
    open: () => {
      setOpened(true);
    },
    dialog: (
      <Modal opened={opened} onClose={close} title={t(`vault.${dialog}Title`)} closeOnClickOutside={false} centered>
        {opened && (
          <Suspense fallback={<LoadingIndicator />}>
            <VaultForm dialog={dialog} onClose={close} />
          </Suspense>
        )}
      </Modal>
    ),
  };
}
