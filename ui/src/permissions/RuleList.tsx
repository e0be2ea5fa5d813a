import clsx from "clsx";
import { useRef } from "react";

import { useNow } from "../components/useNow";
import { VirtualList } from "../components/VirtualList";
import { useMessages } from "../messages";
import type { DescribedRule } from "./describedRules";
import { RuleRow } from "./RuleRow";
import type { SimulationSubject } from "./Simulation";
import styles from "./RuleList.module.css";

type Props = {
  shown: readonly DescribedRule[];
  onWhatIf: (about: SimulationSubject) => void;
  onOver: () => Promise<void>;
};

/** The rules that pass the filters. */
export function RuleList({ shown, onWhatIf, onOver }: Props) {
  const t = useMessages();
  const area = useRef<HTMLDivElement>(null);
  const now = useNow(20_000);
  return (
    <VirtualList
      area={area}
      role="region"
      label={t("perm.rules")}
      className={clsx("card", styles.list)}
      items={shown}
      itemKey={({ view }) => view.rule.id}
      rowHeight={62}
      measured
    >
      {(one) => (
        <RuleRow
          said={one}
          now={now}
          onWhatIf={onWhatIf}
          onOver={onOver}
          onGone={() => area.current?.focus({ preventScroll: true })}
        />
      )}
    </VirtualList>
  );
}
