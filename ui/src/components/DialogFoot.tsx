import { Group } from "@mantine/core";
import type { ReactNode } from "react";

import styles from "./DialogFoot.module.css";

type Props = {
  /** Whether something stands opposite the last buttons. */
  spread?: boolean;
  children: ReactNode;
};

/** The buttons at the end of a dialog. They stay in sight while its content scrolls. */
export function DialogFoot({ spread = false, children }: Props) {
  return (
    <Group className={styles.foot} justify={spread ? "space-between" : "flex-end"} gap="xs">
      {children}
    </Group>
  );
}
