import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

import { useMessages } from "../messages";
import { useNow } from "../components/useNow";
import { RuleRow } from "./RuleRow";
import type { DescribedRule } from "./describedRules";
import type { SimulationSubject } from "./Simulation";

type Props = {
  shown: readonly DescribedRule[];
  onWhatIf: (about: SimulationSubject) => void;
  onOver: () => Promise<void>;
};

/** Virtual list of rules. */
export function RuleList({ shown, onWhatIf, onOver }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const now = useNow(20_000);
  // eslint-disable-next-line react-hooks/incompatible-library -- it re-renders by itself
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => area.current,
    estimateSize: () => 62,
    getItemKey: (at) => shown[at]?.view.rule.id ?? at,
    overscan: 8,
  });
  return (
    <div className="card perm-scroll" ref={area} tabIndex={0} role="region" aria-label={t("perm.rules")}>
      <div role="list" className="perm-list" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const one = shown[row.index];
          if (!one) return null;
          const { rule } = one.view;
          return (
            <div
              key={row.key}
              role="listitem"
              aria-setsize={shown.length}
              aria-posinset={row.index + 1}
              ref={rows.measureElement}
              data-index={row.index}
              className={`perm-rule perm-${rule.effect}`}
              style={{ transform: `translateY(${String(row.start)}px)` }}
            >
              <RuleRow
                said={one}
                now={now}
                onWhatIf={onWhatIf}
                onOver={onOver}
                onGone={() => area.current?.focus({ preventScroll: true })}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}
