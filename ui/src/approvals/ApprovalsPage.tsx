import "./cards.css";
import "./approvals.css";

import { Button } from "@mantine/core";
import { IconShieldCheck } from "@tabler/icons-react";
import { useCallback, useEffect } from "react";

import { AwakeContext } from "./AnswerGuardContext";
import { groupsOf } from "./groups";
import { waiting } from "./queue";
import { useAwake } from "./useAnswerGuard";
import { useQueue } from "./useApprovalQueue";
import { useCore } from "../core/CoreProvider";
import { useQuestions } from "../core/usePendingApprovals";
import type { ApprovalsReveal, SubmittedAnswer } from "../generated/types";
import { useMessages } from "../messages";
import { Empty } from "../components/EmptyState";
import { Page } from "../components/Page";
import { ProblemAlert } from "../components/ErrorAlert";
import { Waiting } from "../components/LoadingIndicator";
import { GroupOfQuestions } from "./ApprovalGroup";
import { useByAndBy } from "./useIncrementalCount";

/** The questions that wait, by client and server, one below the other. */
export function ApprovalsPage() {
  const t = useMessages();
  const { platform } = useCore();
  const { data, problem, loading } = useQuestions();
  const send = useCallback((answers: SubmittedAnswer[]) => platform.command("approvals.answer", { answers }), [platform]);
  const { queue, problem: refused, read, shown, answer } = useQueue(send);
  const awake = useAwake(queue.anyChange);
  useEffect(() => {
    if (data) read(data);
  }, [data, read]);
  const openLink = useCallback((address: string) => platform.openLink(address), [platform]);
  const reveal = useCallback(async (which: ApprovalsReveal) => (await platform.command("approvals.reveal", which)).text, [platform]);
  const failed = refused ?? problem;
  const left = waiting(queue).length;
  const drawn = useByAndBy(queue.slots.length);
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
      {failed && <ProblemAlert problem={failed} />}
      {loading && <Waiting />}
      {!loading && queue.slots.length === 0 && (
        <Empty icon={<IconShieldCheck size={26} />} title={t("ask.none")} text={t("ask.noneText")} />
      )}
      <p className="approvals-count" role="status">
        {queue.slots.length > 0 && t("ask.count", { count: left })}
      </p>
      <AwakeContext value={awake}>
        <div className="approvals">
          {groupsOf(queue.slots.slice(0, drawn)).map((group) => (
            <GroupOfQuestions key={group.key} group={group} onAnswer={answer} onLink={openLink} onReveal={reveal} />
          ))}
        </div>
      </AwakeContext>
    </Page>
  );
}
