import { Button, SegmentedControl } from "@mantine/core";

import type { AutoApprove } from "../generated/types";
import { useMessages, type MessageKey } from "../messages";
import { autoApproveLevels } from "./clientAutoApprove";
import styles from "./AutoApproveControl.module.css";

type Props = {
  labelledBy: string;
  /** The level; "mixed" if it differs by server. */
  value: AutoApprove | "mixed";
  /** Whether it applies to every server. */
  everywhere?: boolean;
  disabled?: boolean;
  onChange: (to: AutoApprove) => void;
};

/** The label of an auto-approve level. */
export function autoApproveLabel(preset: AutoApprove, everywhere: boolean): MessageKey {
  return preset === "all" && everywhere ? "preset.allEverywhere" : `preset.${preset}`;
}

/** Chooses what may run without asking, in four levels (PERM-3). */
export function AutoApproveControl({ labelledBy, value, everywhere = false, disabled = false, onChange }: Props) {
  const t = useMessages();
  return (
    <SegmentedControl
      aria-labelledby={labelledBy}
      size="xs"
      className={styles.levels}
      disabled={disabled}
      data={autoApproveLevels.map((one) => ({ value: one, label: t(autoApproveLabel(one, everywhere)) }))}
      value={value}
      onChange={(to) => {
        const wanted = autoApproveLevels.find((one) => one === to);
        if (wanted) onChange(wanted);
      }}
    />
  );
}

/** Number of newer tools that a level would cover but that still ask, with a button to include them. */
export function AllowNewTools({ count, onRenew }: { count: number; onRenew: () => void }) {
  const t = useMessages();
  if (count === 0) return null;
  return (
    <>
      <span>{t("preset.late", { count })}</span>
      <Button size="compact-xs" variant="light" onClick={onRenew}>
        {t("preset.renew")}
      </Button>
    </>
  );
}
