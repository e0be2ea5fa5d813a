import { Text } from "@mantine/core";

import { useMessages } from "../messages";
import { splitCommand } from "./commandLine";
import styles from "./CommandPreview.module.css";

/** Shows how a command line was split into words. */
export function CommandPreview({ line }: { line: string }) {
  const t = useMessages();
  const words = splitCommand(line) ?? [];
  if (words.length < 2) return null;
  return (
    <Text size="xs" c="dimmed" mt={4} component="div" className={styles.words}>
      {t("servers.form.words")}
      {words.map((word, at) => (
        <code key={at}>{word}</code>
      ))}
    </Text>
  );
}
