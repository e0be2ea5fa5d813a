import "../ask/ask.css";
import "./approvals.css";

import { IconShieldCheck } from "@tabler/icons-react";
import { useEffect } from "react";

import { waiting } from "../ask/queue";
import { Question } from "../ask/Question";
import { useAwake } from "../ask/useAwake";
import { useQueue } from "../ask/useQueue";
import { useCore } from "../core/CoreProvider";
import { useReading } from "../core/useReading";
import { useMessages } from "../messages";
import { Empty } from "../parts/Empty";
import { Page } from "../parts/Page";
import { ProblemAlert } from "../parts/ProblemAlert";
import { Waiting } from "../parts/Waiting";

/** The questions that wait, one below the other. */
export function ApprovalsPage() {
  const t = useMessages();
  const { platform } = useCore();
  const { data, problem, loading } = useReading("approvals.list", {});
  const { queue, problem: refused, read, answer } = useQueue((answers) => platform.command("approvals.answer", { answers }));
  const awake = useAwake(queue.anyChange);
  useEffect(() => {
    if (data) read(data);
  }, [data, read]);
  const failed = refused ?? problem;
  return (
    <Page title={t("ask.title")}>
      {failed && <ProblemAlert problem={failed} />}
      {loading && <Waiting />}
      {!loading && queue.slots.length === 0 && (
        <Empty icon={<IconShieldCheck size={26} />} title={t("ask.none")} text={t("ask.noneText")} />
      )}
      <div className="approvals" aria-live="polite">
        {queue.slots.map((slot) => (
          <div key={slot.pending.id} className="card approvals-card">
            <Question slot={slot} all={waiting(queue)} awake={awake} keys={false} onAnswer={answer} onLink={(address) => platform.openLink(address)} />
          </div>
        ))}
      </div>
    </Page>
  );
}
