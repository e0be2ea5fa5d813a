import "./PickList.css";

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, type KeyboardEvent } from "react";

export type PickListItem = {
  key: string;
  title: string;
  line: string;
  tag?: string;
  /** Whether the line is an address. */ isAddress?: boolean;
};

type Props = { label: string; picks: readonly PickListItem[]; picked: string | null; onPick: (key: string) => void };

const HEIGHT = 48;

/** One of many, by pointer or by arrow keys. Only the rows in sight are on the page. */
export function PickList({ label, picks, picked, onPick }: Props) {
  const area = useRef<HTMLDivElement>(null);
  const id = useId();
  const at = picks.findIndex(({ key }) => key === picked);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: picks.length,
    getScrollElement: () => area.current,
    estimateSize: () => HEIGHT,
    getItemKey: (place) => picks[place]?.key ?? place,
    overscan: 8,
  });
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [rows, at]);
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
    <div
      className="picks"
      ref={area}
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={at < 0 ? undefined : `${id}-${String(at)}`}
      onKeyDown={pressed}
    >
      <div role="presentation" style={{ height: rows.getTotalSize(), position: "relative" }}>
        {rows.getVirtualItems().map((row) => {
          const pick = picks[row.index];
          if (!pick) return null;
          return (
            <div
              key={row.key}
              id={`${id}-${String(row.index)}`}
              role="option"
              aria-selected={pick.key === picked}
              aria-setsize={picks.length}
              aria-posinset={row.index + 1}
              className="pick"
              style={{ transform: `translateY(${String(row.start)}px)` }}
              onClick={() => {
                onPick(pick.key);
              }}
            >
              <span className="pick-title">
                <span>{pick.title}</span>
                {pick.tag !== undefined && <span className="pick-tag">{pick.tag}</span>}
              </span>
              <span className={pick.isAddress ? "pick-line mono" : "pick-line"}>{pick.line}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
