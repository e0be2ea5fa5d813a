import { Checkbox, SegmentedControl, TextInput } from "@mantine/core";
import type { ReactNode } from "react";

import { MarkedText } from "../components/MarkedText";
import type { Message } from "../generated/types";
import { useMessages, useRender } from "../messages";
import styles from "./ImportRow.module.css";

type RowProps = {
  title: string;
  /** What it runs or reaches. */
  summary?: string | undefined;
  isPicked: boolean;
  canBePicked: boolean;
  onPick: (picked: boolean) => void;
  children: ReactNode;
};

/** Something that can be imported: a tick, and below it what there is to know and to decide. */
export function ImportRow({ title, summary, isPicked, canBePicked, onPick, children }: RowProps) {
  return (
    <li className={styles.row}>
      <Checkbox
        label={<MarkedText text={title} />}
        description={summary === undefined ? undefined : <MarkedText text={summary} />}
        classNames={{ description: styles.summary }}
        checked={isPicked}
        disabled={!canBePicked}
        onChange={(event) => {
          onPick(event.currentTarget.checked);
        }}
      />
      <div className={styles.details}>{children}</div>
    </li>
  );
}

export function ImportNote({ children }: { children: ReactNode }) {
  return <p className={styles.note}>{children}</p>;
}

/** Why it can't be imported. */
export function ImportProblems({ problems }: { problems: readonly Message[] }) {
  const render = useRender();
  return problems.map((problem, at) => (
    <p key={at} className={styles.problem}>
      <MarkedText text={render(problem)} />
    </p>
  ));
}

/** Settings that come with it. They stand open: a variable can make a program run other code. */
export function ImportSettings({
  label,
  settings,
}: {
  label: string;
  settings: readonly { name: string; value: string }[];
}) {
  if (settings.length === 0) return null;
  return (
    <ul className={styles.settings} aria-label={label}>
      {settings.map(({ name, value }, at) => (
        <li key={at}>
          <MarkedText text={`${name}: ${value}`} />
        </li>
      ))}
    </ul>
  );
}

/** What can be done where a name is taken. */
type ConflictPlan = "skip" | "overwrite" | "rename";
const plans: readonly ConflictPlan[] = ["skip", "overwrite", "rename"];

type ConflictProps = {
  /** Name of what is imported. */
  name: string;
  /** How the plans are called. */
  labels: Record<ConflictPlan, string>;
  /** `add` where no name is taken. */
  plan: ConflictPlan | "add";
  newName: string;
  /** Whether one can be chosen; a new name can be edited in any case. */
  canChoose: boolean;
  onChange: (choice: { plan?: ConflictPlan; newName?: string }) => void;
};

/** Chooses what is done where a name is taken. */
export function ConflictChoice({ name, labels, plan, newName, canChoose, onChange }: ConflictProps) {
  const t = useMessages();
  return (
    <>
      {canChoose && (
        <SegmentedControl
          size="xs"
          aria-label={t("imports.conflict", { name })}
          data={plans.map((value) => ({ value, label: labels[value] }))}
          value={plan}
          onChange={(value) => {
            onChange({ plan: plans.find((one) => one === value) ?? "skip" });
          }}
        />
      )}
      {plan === "rename" && (
        <TextInput
          size="xs"
          label={t("imports.newName")}
          value={newName}
          onChange={(event) => {
            onChange({ newName: event.currentTarget.value });
          }}
        />
      )}
    </>
  );
}
