import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import {
  useCallback,
  useEffect,
  useImperativeHandle,
  type HTMLAttributes,
  type ReactNode,
  type RefObject,
} from "react";

import { useFollowEnd } from "./useFollowEnd";
import styles from "./VirtualList.module.css";

/** Roles of the element around the rows and of a row, by the role of the scroll area. */
const roles = {
  list: { rows: "presentation", row: "listitem" },
  region: { rows: "list", row: "listitem" },
  listbox: { rows: "presentation", row: "option" },
  log: { rows: undefined, row: undefined },
  group: { rows: undefined, row: undefined },
} as const;

/** Rendered rows before and after the visible ones. When the user jumps to another place, all rows are rendered anew. */
const OVERSCAN = 4;

/** Distance from the start at which `onNearStart` is called, in pixels. */
const NEAR_START = 400;

export type VirtualListProps<Item> = Pick<HTMLAttributes<HTMLDivElement>, "onKeyDown" | "aria-activedescendant"> & {
  items: readonly Item[];
  /** Identifies an item when the list changes; its index if absent. */
  itemKey?: (item: Item) => string | number;
  /** Height of a row in pixels; an estimate if rows are measured. */
  rowHeight: number | ((item: Item) => number);
  /** Whether rows differ in height, so that each is measured. */
  measured?: boolean;
  overscan?: number;
  /** Role of the scroll area. */
  role: keyof typeof roles;
  label: string;
  className?: string | undefined;
  rowClassName?: string | undefined;
  rowProps?: (item: Item, at: number) => HTMLAttributes<HTMLDivElement>;
  /** The scroll area. */
  area?: RefObject<HTMLDivElement | null>;
  /** Index of the row that is scrolled into view when it changes; -1 for none. */
  active?: number;
  /** If given, the list stays at its end until the user scrolls up. Renders the button that returns there. */
  toEndButton?: (toEnd: () => void) => ReactNode;
  /** The user scrolled near the start: earlier items may be added, and the visible ones stay in place. */
  onNearStart?: () => void;
  children: (item: Item) => ReactNode;
};

/** A list of any length. Only the rows near the visible part are in the document. Without Mantine, which the prompt does not load. */
export function VirtualList<Item>({
  items,
  itemKey,
  rowHeight,
  measured = false,
  overscan = OVERSCAN,
  role,
  label,
  className,
  rowClassName,
  rowProps,
  area: areaRef,
  active = -1,
  toEndButton,
  onNearStart,
  children,
  ...areaProps
}: VirtualListProps<Item>) {
  const count = items.length;
  const { area, following, toEnd, onScroll } = useFollowEnd({
    enabled: toEndButton !== undefined,
    size: count,
    last: items.at(-1),
  });
  useImperativeHandle<HTMLDivElement | null, HTMLDivElement | null>(areaRef, () => area.current);
  // The same function as long as the items are: for another one, the places of all rows are computed anew, in each frame.
  const keyAt = useCallback(
    (at: number) => {
      const item = items[at];
      return item !== undefined && itemKey ? itemKey(item) : at;
    },
    [items, itemKey],
  );
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count,
    getScrollElement: () => area.current,
    estimateSize: (at) => {
      const item = items[at];
      return typeof rowHeight === "number" ? rowHeight : item === undefined ? 0 : rowHeight(item);
    },
    getItemKey: keyAt,
    overscan,
    // Items that are added at the start do not move the visible ones.
    anchorTo: onNearStart ? "end" : "start",
  });

  useEffect(() => {
    if (active >= 0) rows.scrollToIndex(active);
  }, [rows, active]);

  const scrolled = () => {
    onScroll();
    if (onNearStart && area.current && area.current.scrollTop < NEAR_START) onNearStart();
  };
  const content = (
    <div
      {...areaProps}
      className={className}
      ref={area}
      onScroll={scrolled}
      role={role}
      aria-label={label}
      tabIndex={0}
    >
      <div role={roles[role].rows} className={styles.rows} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const item = items[row.index];
          if (item === undefined) return null;
          return (
            <div
              key={row.key}
              role={roles[role].row}
              {...(roles[role].row && { "aria-setsize": count, "aria-posinset": row.index + 1 })}
              {...(measured && { ref: rows.measureElement, "data-index": row.index })}
              {...rowProps?.(item, row.index)}
              className={clsx(styles.row, rowClassName)}
              style={{ transform: `translateY(${String(row.start)}px)` }}
            >
              {children(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
  if (toEndButton === undefined) return content;
  return (
    <div className={styles.frame}>
      {content}
      {!following && <div className={styles.toEnd}>{toEndButton(toEnd)}</div>}
    </div>
  );
}
