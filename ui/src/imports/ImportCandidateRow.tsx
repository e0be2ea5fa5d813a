import { Checkbox } from "@mantine/core";
import { useState } from "react";

import type { ImportCandidate, ImportedApprovals } from "../generated/types";
import { useMessages, useRender } from "../messages";
import { Collapse } from "../components/Collapse";
import { choiceOf, isImportable, withChoice, withTick, type ImportDecisions } from "./importChoices";
import { ConflictChoice, ImportNote, ImportProblems, ImportRow, ImportSettings } from "./ImportRow";
import styles from "./ImportCandidateRow.module.css";

type Props = {
  candidate: ImportCandidate;
  decisions: ImportDecisions;
  onDecisions: (decisions: ImportDecisions) => void;
};

/** One server that can be imported, with what there is to decide about it. */
export function ImportCandidateRow({ candidate, decisions, onDecisions }: Props) {
  const t = useMessages();
  const { name, summary, settings, problems, project, enabled, conflict, autoApprove } = candidate;
  const { plan, newName, autoApprove: isAllowed } = choiceOf(decisions, candidate);
  const isPicked = plan !== "skip";
  return (
    <ImportRow
      title={name}
      summary={summary}
      isPicked={isPicked}
      canBePicked={isImportable(candidate)}
      onPick={(picked) => {
        onDecisions(withTick(decisions, candidate, picked));
      }}
    >
      <ImportProblems problems={problems} />
      <ImportSettings label={t("imports.settingsOf", { name })} settings={settings} />
      {project !== null && <ImportNote>{t("imports.project", { folder: project })}</ImportNote>}
      {!enabled && <ImportNote>{t("imports.off")}</ImportNote>}
      {candidate.hasPlainSecret && <ImportNote>{t("imports.plainSecret")}</ImportNote>}
      {conflict !== null && <ImportNote>{t(conflict.isSame ? "imports.same" : "imports.taken")}</ImportNote>}
      <ConflictChoice
        name={name}
        labels={{
          skip: t("imports.plan.skip"),
          overwrite: t("imports.plan.overwrite"),
          rename: t("imports.plan.rename"),
        }}
        plan={plan}
        newName={newName}
        canChoose={conflict !== null && isImportable(candidate)}
        onChange={(choice) => {
          onDecisions(withChoice(decisions, candidate, choice));
        }}
      />
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
    </ImportRow>
  );
}

function autoApproveLabel(t: ReturnType<typeof useMessages>, approvals: ImportedApprovals): string {
  if (approvals === "all") return t("imports.autoApproveAll");
  return t("imports.autoApprove", { tools: approvals.tools });
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
