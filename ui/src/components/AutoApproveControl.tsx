import "./AutoApproveControl.css";

import { Button, SegmentedControl } from "@mantine/core";

import type { AutoApprove } from "../generated/types";
import { useMessages, type MessageKey } from "../messages";
import { presets } from "../permissions/clientAutoApprove";

type Props = {
  labelledBy: string;
  /** What it stands at; none of them where it differs by server. */
  value: AutoApprove | "mixed";
  /** Whether it is about every server. */
  everywhere?: boolean;
  disabled?: boolean;
  onChange: (to: AutoApprove) => void;
};

/** How a preset is called. */
export function presetWord(preset: AutoApprove, everywhere: boolean): MessageKey {
  return preset === "all" && everywhere ? "preset.allEverywhere" : `preset.${preset}`;
}

/** What may run without asking, in four steps (PERM-3). */
export function Preset({ labelledBy, value, everywhere = false, disabled = false, onChange }: Props) {
  const t = useMessages();
  return (
    <SegmentedControl
      aria-labelledby={labelledBy}
      size="xs"
      className="preset"
      disabled={disabled}
      data={presets.map((one) => ({ value: one, label: t(presetWord(one, everywhere)) }))}
      value={value}
      onChange={(to) => {
        const wanted = presets.find((one) => one === to);
        if (wanted) onChange(wanted);
      }}
    />
  );
}

/** Tools that the preset is meant for, and that still ask. */
export function Late({ count, onRenew }: { count: number; onRenew: () => void }) {
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
