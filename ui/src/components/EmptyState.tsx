import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./EmptyState.module.css";

type Props = { icon: ReactNode; title: string; text: string; children?: ReactNode };

/** The empty state of a list: what would be here, and the next step as a button. */
export function EmptyState({ icon, title, text, children }: Props) {
  return (
    <Stack align="center" gap="xs" className={styles.empty}>
      <span className={styles.icon} aria-hidden>
        {icon}
      </span>
      <Text fw={600}>{title}</Text>
      <Text c="dimmed" ta="center" maw={420}>
        {text}
      </Text>
      {children}
    </Stack>
  );
}
