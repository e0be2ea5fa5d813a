import { Button } from "@mantine/core";
import { IconShieldCheck } from "@tabler/icons-react";

import { AnswerGuardContext } from "./AnswerGuardContext";
import { groupApprovals } from "./groups";
import { pendingIn } from "./queue";
import { useAnswerGuard } from "./useAnswerGuard";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { ApprovalGroupSection } from "./ApprovalGroupSection";
import { useIncrementalCount } from "./useIncrementalCount";
import { useMainApprovals } from "./useMainApprovals";
import styles from "./ApprovalsPage.module.css";

/** All pending approvals, grouped by client and server. */
export function ApprovalsPage() {
  const t = useMessages();
  const { queue, error, loading, actions, clear } = useMainApprovals();
  const awake = useAnswerGuard(queue.anyChange);
  const left = pendingIn(queue).length;
  const drawn = useIncrementalCount(queue.slots.length);
  return (
    <Page
      title={t("ask.title")}
      actions={
        queue.slots.length > left && (
          <Button size="xs" variant="default" onClick={clear}>
            {t("ask.clearEnded")}
          </Button>
        )
      }
    >
      {error && <ErrorAlert error={error} />}
      {loading && <LoadingIndicator />}
      {!loading && queue.slots.length === 0 && (
        <EmptyState icon={<IconShieldCheck size={26} />} title={t("ask.none")} text={t("ask.noneText")} />
      )}
      <p className={styles.count} role="status">
        {queue.slots.length > 0 && t("ask.count", { count: left })}
      </p>
      <AnswerGuardContext value={awake}>
        <div className={styles.list}>
          {groupApprovals(queue.slots.slice(0, drawn)).map((group) => (
            <ApprovalGroupSection key={group.key} group={group} {...actions} />
          ))}
        </div>
      </AnswerGuardContext>
    </Page>
  );
}
