import { useCallback, useEffect, useMemo } from "react";

import { useCore } from "../core/CoreProvider";
import { usePendingApprovals } from "../core/usePendingApprovals";
import type { ApprovalId, UserError } from "../generated/types";
import type { ApprovalActions } from "./ApprovalItem";
import type { ApprovalQueue } from "./queue";
import { useApprovalQueue, type ApprovalCommands } from "./useApprovalQueue";

export type MainApprovals = {
  queue: ApprovalQueue;
  /** Why an answer was refused, or the requests could not be read. */
  error: UserError | null;
  loading: boolean;
  /** What can be done with each request. The same functions for as long as the page is mounted. */
  actions: ApprovalActions;
  /** Removes what has ended. */
  clear: () => void;
};

/** Pending approvals in the main window: all of them, or those of `only`, which should stay the same object while it says the same. */
export function useMainApprovals(only?: ReadonlySet<ApprovalId>): MainApprovals {
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
  useEffect(() => {
    if (data) read(only ? data.filter(({ id }) => only.has(id)) : data);
  }, [data, only, read]);
  const onLink = useCallback((address: string) => platform.openLink(address), [platform]);
  const onReveal = useCallback<ApprovalActions["onReveal"]>(
    async (which) => (await platform.command("approvals.reveal", which)).text,
    [platform],
  );
  const actions = useMemo(
    (): ApprovalActions => ({ onAnswer: answer, onTrustLabels: trustLabels, onLink, onReveal }),
    [answer, trustLabels, onLink, onReveal],
  );
  return { queue, error: refused ?? error, loading, actions, clear: shown };
}
