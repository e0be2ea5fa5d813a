import { Group, Title } from "@mantine/core";
import type { ReactNode } from "react";
import styles from "./Page.module.css";

type Props = { title: ReactNode; actions?: ReactNode; children: ReactNode };

/** A page: its heading with what can be done, and below it what scrolls. */
export function Page({ title, actions, children }: Props) {
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <Title order={1} size="h2" className={styles.title}>
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </header>
      <div className={styles.body} data-testid="page-body">
        {children}
      </div>
    </div>
  );
}
