import { Button } from "@mantine/core";
import { IconShieldCheck } from "@tabler/icons-react";
import { useCallback, useEffect, useMemo } from "react";

import { AnswerGuardContext } from "./AnswerGuardContext";
import { groupApprovals } from "./groups";
import { pendingIn } from "./queue";
import { useAnswerGuard } from "./useAnswerGuard";
import { useApprovalQueue, type ApprovalCommands } from "./useApprovalQueue";
import { useCore } from "../core/CoreProvider";
import { usePendingApprovals } from "../core/usePendingApprovals";
import type { ApprovalsReveal } from "../generated/types";
import { useMessages } from "../messages";
import { EmptyState } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ErrorAlert } from "../components/ErrorAlert";
import { LoadingIndicator } from "../components/LoadingIndicator";
import { ApprovalGroupSection } from "./ApprovalGroupSection";
import { useIncrementalCount } from "./useIncrementalCount";
import styles from "./ApprovalsPage.module.css";

/** All pending approvals, grouped by client and server. */
export function ApprovalsPage() {
  const t = useMessages();
  const { platform } = useCore();
  const { data, error, loading } = usePendingApprovals();
  const send = useMemo(
    (): ApprovalCommands => ({
      answer: (answers) => platform.command("approvals.answer", { answers }),
      trustLabels: ({ server: { id, generation } }, trusted) =>
        platform.command("servers.trustLabels", { server: id, generation, trusted }),
    }),
    [platform],
  );
  const { queue, error: refused, read, shown, answer, trustLabels } = useApprovalQueue(send);
  const awake = useAnswerGuard(queue.anyChange);
  useEffect(() => {
    if (data) read(data);
  }, [data, read]);
  const openLink = useCallback((address: string) => platform.openLink(address), [platform]);
  const reveal = useCallback(
    async (which: ApprovalsReveal) => (await platform.command("approvals.reveal", which)).text,
    [platform],
  );
  const failed = refused ?? error;
  const left = pendingIn(queue).length;
  const drawn = useIncrementalCount(queue.slots.length);
  return (
    <Page
      title={t("ask.title")}
      actions={
        queue.slots.length > left && (
          <Button size="xs" variant="default" onClick={shown}>
            {t("ask.clearEnded")}
          </Button>
        )
      }
    >
      {failed && <ErrorAlert error={failed} />}
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
            <ApprovalGroupSection
              key={group.key}
              group={group}
              onAnswer={answer}
              onTrustLabels={trustLabels}
              onLink={openLink}
              onReveal={reveal}
            />
          ))}
        </div>
      </AnswerGuardContext>
    </Page>
  );
}
