import { Button } from "@mantine/core";

import { useMessages } from "../messages";
import type { Vault } from "../platform";
import { useVaultDialog, type VaultDialog } from "./useVaultDialog";

/** The dialog that helps on from here, if one does. */
function dialogFor({ state, fault }: Vault): VaultDialog | null {
  if (state === "absent") return "make";
  if (state === "put_aside" && fault === null) return "unlock";
  return state === "open" ? "change" : null;
}

const words = { make: "vault.keep", unlock: "vault.unlockLater", change: "vault.change" } as const;

/** What can be done about where secrets are kept, as a button. */
export function VaultButton({ vault, variant }: { vault: Vault; variant?: "default" }) {
  const dialog = dialogFor(vault);
  return dialog === null ? null : <Opener key={dialog} dialog={dialog} variant={variant ?? "filled"} />;
}

function Opener({ dialog: which, variant }: { dialog: VaultDialog; variant: string }) {
  const t = useMessages();
  const { open, dialog } = useVaultDialog(which);
  return (
    <>
      <Button size="xs" variant={variant} onClick={open}>
        {t(words[which])}
      </Button>
      {dialog}
    </>
  );
}
