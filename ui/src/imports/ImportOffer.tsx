import { ActionIcon, Button } from "@mantine/core";
import { IconFileImport, IconX } from "@tabler/icons-react";
import { useState } from "react";

import { useCoreQuery } from "../core/useCoreQuery";
import { useMessages } from "../messages";
import styles from "./ImportOffer.module.css";

type Props = { onImport: () => void };

/** Offers to import what was found in other applications and is not here yet; nothing if there is nothing. */
export function ImportOffer({ onImport }: Props) {
  const t = useMessages();
  const [isDismissed, setDismissed] = useState(false);
  const { data } = useCoreQuery("imports.sources", {});
  const found = (data ?? []).filter(({ newServers }) => newServers > 0);
  if (found.length === 0 || isDismissed) return null;
  const count = found.reduce((sum, { newServers }) => sum + newServers, 0);
  const apps = [...new Set(found.map(({ name }) => name))];
  return (
    <div className={styles.offer} role="status">
      <IconFileImport size={18} aria-hidden />
      <span className={styles.text}>{t("imports.offer", { count, apps })}</span>
      <Button size="xs" variant="light" onClick={onImport}>
        {t("imports.offerImport")}
      </Button>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={t("imports.offerDismiss")}
        onClick={() => {
          setDismissed(true);
        }}
      >
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </div>
  );
}
