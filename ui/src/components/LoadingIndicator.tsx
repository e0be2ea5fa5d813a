import { Group, Loader, Text } from "@mantine/core";

import { useMessages } from "../messages";
import styles from "./LoadingIndicator.module.css";

/** A loading indicator. It appears after a delay, so that fast reads don't flicker. */
export function LoadingIndicator() {
  const t = useMessages();
  return (
    <Group role="status" className={styles.loading} gap="sm">
      <Loader size="sm" />
      <Text c="dimmed">{t("appShell.loading")}</Text>
    </Group>
  );
}
