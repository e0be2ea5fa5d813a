import { ActionIcon } from "@mantine/core";
import { useSessionStorage } from "@mantine/hooks";
import { IconAlertTriangle, IconX } from "@tabler/icons-react";

import { Notice } from "../components/Notice";
import { useMessages } from "../messages";
import { useVault } from "./useVault";
import { VaultButton } from "./VaultButton";

/** Says on every page that secrets are in memory alone, until the user has had enough of it. */
export function MemoryNotice() {
  const t = useMessages();
  const { vault } = useVault();
  const [hidden, setHidden] = useSessionStorage({
    key: "gatehouse.memory",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  if (hidden) return null;
  return (
    <Notice icon={<IconAlertTriangle size={18} aria-hidden />} text={t("appShell.memory")}>
      {vault && <VaultButton vault={vault} />}
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={t("vault.hide")}
        title={t("vault.hide")}
        onClick={() => {
          setHidden(true);
        }}
      >
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Notice>
  );
}
