import { Button, Group, Loader, Text } from "@mantine/core";
import { useEffect, useState } from "react";

import { useMessages } from "../messages";
import { SLOW_MS } from "./slow";
import styles from "./LoadingIndicator.module.css";

/**
 * A loading indicator. It appears after a delay, so that fast reads don't flicker. What takes long can be cancelled where
 * there is a way to.
 */
export function LoadingIndicator({ onCancel }: { onCancel?: () => void }) {
  const t = useMessages();
  const [isSlow, setIsSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setIsSlow(true);
    }, SLOW_MS);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return (
    <Group role="status" className={styles.loading} gap="sm">
      <Loader size="sm" />
      <Text c="dimmed">{t("appShell.loading")}</Text>
      {isSlow && onCancel && (
        <Button size="compact-xs" variant="default" onClick={onCancel}>
          {t("appShell.cancel")}
        </Button>
      )}
    </Group>
  );
}
