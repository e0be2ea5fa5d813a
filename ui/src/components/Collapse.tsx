import { Button } from "@mantine/core";
import { IconChevronRight } from "@tabler/icons-react";
import clsx from "clsx";
import { useEffect, useId, useRef, type ReactNode } from "react";
import styles from "./Collapse.module.css";

type Props = { label: string; opened: boolean; onOpened: (opened: boolean) => void; children: ReactNode };

/** A section that is collapsed by default, for what most users don't need. */
export function Collapse({ label, opened, onOpened, children }: Props) {
  const id = useId();
  const area = useRef<HTMLDivElement>(null);
  const asked = useRef(false);
  useEffect(() => {
    if (opened && asked.current) area.current?.scrollIntoView({ block: "nearest" });
    asked.current = false;
  }, [opened]);
  return (
    <>
      <Button
        variant="subtle"
        size="xs"
        className={clsx(styles.aligned, styles.toggle)}
        leftSection={<IconChevronRight size={14} aria-hidden />}
        aria-expanded={opened}
        aria-controls={id}
        onClick={() => {
          asked.current = true;
          onOpened(!opened);
        }}
      >
        {label}
      </Button>
      <div id={id} ref={area} className={styles.content}>
        {opened && children}
      </div>
    </>
  );
}
