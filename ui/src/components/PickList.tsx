import clsx from "clsx";
import { useId, useRef, type KeyboardEvent } from "react";

import { VirtualList } from "./VirtualList";
import styles from "./PickList.module.css";

export type PickListItem = {
  key: string;
  title: string;
  line: string;
  tag?: string;
  /** Whether the line is an address. */
  isAddress?: boolean;
};

type Props = { label: string; picks: readonly PickListItem[]; picked: string | null; onPick: (key: string) => void };

const HEIGHT = 48;

/** A list box: one of many, by pointer or by arrow keys. */
export function PickList({ label, picks, picked, onPick }: Props) {
  const area = useRef<HTMLDivElement>(null);
  const id = useId();
  const at = picks.findIndex(({ key }) => key === picked);
  const pressed = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((area.current?.clientHeight ?? HEIGHT) / HEIGHT) - 1);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: picks.length - 1,
    };
    const wanted = steps[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    const pick = picks[Math.min(picks.length - 1, Math.max(0, wanted))];
    if (pick) onPick(pick.key);
  };
  return (
    <VirtualList
      area={area}
      role="listbox"
      label={label}
      className={styles.list}
      rowClassName={styles.item}
      items={picks}
      itemKey={({ key }) => key}
      rowHeight={HEIGHT}
      active={at}
      aria-activedescendant={at < 0 ? undefined : `${id}-${String(at)}`}
      onKeyDown={pressed}
      rowProps={({ key }, place) => ({
        id: `${id}-${String(place)}`,
        "aria-selected": key === picked,
        onClick: () => {
          onPick(key);
        },
      })}
    >
      {(pick) => (
        <>
          <span className={styles.title}>
            <span>{pick.title}</span>
            {pick.tag !== undefined && <span className={styles.tag}>{pick.tag}</span>}
          </span>
          <span className={pick.isAddress ? clsx(styles.line, "mono") : styles.line}>{pick.line}</span>
        </>
      )}
    </VirtualList>
  );
}
