import { useCallback, useReducer, useState } from "react";

import type { SubmittedAnswer, PendingApproval, UserError } from "../generated/types";
import { toUserError } from "../platform";
import { emptyQueue, reduceQueue, type ApprovalQueue } from "./queue";

export type ApprovalQueueState = {
  queue: ApprovalQueue;
  error: UserError | null;
  read: (pending: readonly PendingApproval[]) => void;
  move: (by: 1 | -1) => void;
  shown: () => void;
  answer: (answers: SubmittedAnswer[]) => void;
};

/**
 * The queue with what can be done to it. A refused answer leaves its question as it is and says why. What can
 * be done stays the same functions for as long as `send` does.
 */
export function useApprovalQueue(send: (answers: SubmittedAnswer[]) => Promise<unknown>): ApprovalQueueState {
  const [queue, happen] = useReducer(reduceQueue, emptyQueue);
  const [error, setError] = useState<UserError | null>(null);
  const answer = useCallback(
    (answers: SubmittedAnswer[]) => {
      setError(null);
      send(answers).then(
        () => {
          const allowed = answers.every(({ answer: one }) => one.answer === "allow" || one.answer === "accept");
          happen({ is: "answered", ids: answers.map(({ id }) => id), end: allowed ? "allowed" : "denied" });
        },
        (thrown: unknown) => {
          setError(toUserError(thrown));
        },
      );
    },
    [send],
  );
  return {
    queue,
    error,
    answer,
    read: useCallback((pending) => {
      happen({ is: "read", pending });
    }, []),
    move: useCallback((by) => {
      setError(null);
      happen({ is: "moved", by });
    }, []),
    shown: useCallback(() => {
      happen({ is: "shown" });
    }, []),
  };
}
