import { useCallback, useReducer, useState } from "react";

import type { ApprovalId, SubmittedAnswer, PendingApproval, UserError } from "../generated/types";
import { toUserError } from "../platform";
import type { ShownCall } from "./ApprovalItem";
import { emptyQueue, reduceQueue, type ApprovalQueue } from "./queue";

export type ApprovalQueueState = {
  queue: ApprovalQueue;
  error: UserError | null;
  read: (pending: readonly PendingApproval[]) => void;
  move: (by: 1 | -1) => void;
  open: (id: ApprovalId) => void;
  shown: () => void;
  answer: (answers: SubmittedAnswer[]) => void;
  trustLabels: (call: ShownCall, trusted: boolean) => void;
};

/** How what the user decides reaches the core. */
export type ApprovalCommands = {
  answer: (answers: SubmittedAnswer[]) => Promise<unknown>;
  trustLabels: (call: ShownCall, trusted: boolean) => Promise<unknown>;
};

/**
 * The queue with what can be done to it. A refused answer leaves its question as it is and says why. What can
 * be done stays the same functions for as long as `send` does.
 */
export function useApprovalQueue(send: ApprovalCommands): ApprovalQueueState {
  const [queue, happen] = useReducer(reduceQueue, emptyQueue);
  const [error, setError] = useState<UserError | null>(null);
  const answer = useCallback(
    (answers: SubmittedAnswer[]) => {
      setError(null);
      send.answer(answers).then(
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
  const trustLabels = useCallback(
    (call: ShownCall, trusted: boolean) => {
      setError(null);
      // Before the answer: what is pending may be read again meanwhile.
      happen({ is: "relabelled", server: call.server.id });
      send.trustLabels(call, trusted).catch((thrown: unknown) => {
        setError(toUserError(thrown));
      });
    },
    [send],
  );
  return {
    queue,
    error,
    answer,
    trustLabels,
    read: useCallback((pending) => {
      happen({ is: "read", pending });
    }, []),
    open: useCallback((id) => {
      setError(null);
      happen({ is: "opened", id });
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
