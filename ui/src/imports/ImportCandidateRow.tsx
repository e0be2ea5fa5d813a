import { Checkbox, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";

import type { ImportCandidate, ImportedApprovals } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { Collapse } from "../components/Collapse";
import { MarkedText } from "../components/MarkedText";
import { choiceOf, isImportable, withChoice, withTick, type ImportDecisions } from "./importChoices";
import styles from "./ImportCandidateRow.module.css";

type Props = {
  candidate: ImportCandidate;
  decisions: ImportDecisions;
  onDecisions: (decisions: ImportDecisions) => void;
};

/** What can be done where a name is taken. */
const plans = ["skip", "overwrite", "rename"] as const;

/** One server that can be imported, with what there is to decide about it. */
export function ImportCandidateRow({ candidate, decisions, onDecisions }: Props) {
  const t = useMessages();
  const { name, summary, project, enabled, conflict, autoApprove } = candidate;
  const { plan, newName, autoApprove: isAllowed } = choiceOf(decisions, candidate);
  const isPicked = plan !== "skip";
  return (
    <li className={styles.candidate}>
      <Checkbox
        label={name}
        description={<MarkedText text={summary} />}
        classNames={{ description: styles.summary }}
        checked={isPicked}
        disabled={!isImportable(candidate)}
        onChange={(event) => {
          onDecisions(withTick(decisions, candidate, event.currentTarget.checked));
        }}
      />
      <div className={styles.details}>
        <Problems candidate={candidate} />
        <Settings candidate={candidate} />
        {project !== null && <p className={styles.note}>{t("imports.project", { folder: project })}</p>}
        {!enabled && <p className={styles.note}>{t("imports.off")}</p>}
        {candidate.hasPlainSecret && <p className={styles.note}>{t("imports.plainSecret")}</p>}
        {conflict?.isSame === true && <p className={styles.note}>{t("imports.same")}</p>}
        {conflict?.isSame === false && <p className={styles.note}>{t("imports.taken")}</p>}
        {conflict !== null && isImportable(candidate) && (
          <SegmentedControl
            size="xs"
            aria-label={t("imports.conflict", { name })}
            data={plans.map((value) => ({ value, label: t(`imports.plan.${value}`) }))}
            value={plan}
            onChange={(value) => {
              onDecisions(withChoice(decisions, candidate, { plan: plans.find((one) => one === value) ?? "skip" }));
            }}
          />
        )}
        {plan === "rename" && (
          <TextInput
            size="xs"
            label={t("imports.newName")}
            value={newName}
            onChange={(event) => {
              onDecisions(withChoice(decisions, candidate, { newName: event.currentTarget.value }));
            }}
          />
        )}
        {isPicked && autoApprove !== null && (
          <Checkbox
            size="xs"
            label={autoApproveLabel(t, autoApprove)}
            description={t("imports.autoApproveHint")}
            checked={isAllowed}
            onChange={(event) => {
              onDecisions(withChoice(decisions, candidate, { autoApprove: event.currentTarget.checked }));
            }}
          />
        )}
        <LeftOut candidate={candidate} />
      </div>
    </li>
  );
}

function autoApproveLabel(t: ReturnType<typeof useMessages>, approvals: ImportedApprovals): string {
  if (approvals === "all") return t("imports.autoApproveAll");
  return t("imports.autoApprove", { tools: approvals.tools.join(", ") });
}

/** Why it can't be imported. */
function Problems({ candidate: { problems } }: { candidate: ImportCandidate }) {
  const render = useRender();
  return problems.map((problem, at) => (
    <p key={at} className={styles.problem}>
      {render(problem)}
    </p>
  ));
}

/** What else is carried over. It stands open: a variable can make a program run other code. */
function Settings({ candidate: { name, settings } }: { candidate: ImportCandidate }) {
  const t = useMessages();
  if (settings.length === 0) return null;
  return (
    <ul className={styles.settings} aria-label={t("imports.settingsOf", { name })}>
      {settings.map((setting) => (
        <li key={setting.name}>
          <MarkedText text={`${setting.name}: ${setting.value}`} />
        </li>
      ))}
    </ul>
  );
}

function LeftOut({ candidate: { name, leftOut } }: { candidate: ImportCandidate }) {
  const t = useMessages();
  const render = useRender();
  const [opened, setOpened] = useState(false);
  if (leftOut.length === 0) return null;
  return (
    <Collapse label={t("imports.leftOut", { count: leftOut.length })} opened={opened} onOpened={setOpened}>
      <ul className={styles.leftOut} aria-label={t("imports.leftOutOf", { name })}>
        {leftOut.map((setting, at) => (
          <li key={at}>
            <code>{setting.name}</code> {render(setting.reason)}
          </li>
        ))}
      </ul>
    </Collapse>
  );
}
