import { useCallback, useReducer, useState } from "react";

import type { SubmittedAnswer, PendingApproval, UserError } from "../generated/types";
import { asProblem } from "../platform";
import { emptyQueue, next, type Queue } from "./queue";

export type QueueActs = {
  queue: Queue;
  problem: UserError | null;
  read: (pending: readonly PendingApproval[]) => void;
  move: (by: 1 | -1) => void;
  shown: () => void;
  answer: (answers: SubmittedAnswer[]) => void;
};

/**
 * The queue with what can be done to it. A refused answer leaves its question as it is and says why. What can
 * be done stays the same functions for as long as `send` does.
 */
export function useQueue(send: (answers: SubmittedAnswer[]) => Promise<unknown>): QueueActs {
  const [queue, happen] = useReducer(next, emptyQueue);
  const [problem, setProblem] = useState<UserError | null>(null);
  const answer = useCallback(
    (answers: SubmittedAnswer[]) => {
      setProblem(null);
      send(answers).then(
        () => {
          const allowed = answers.every(({ answer: one }) => one.answer === "allow" || one.answer === "accept");
          happen({ is: "answered", ids: answers.map(({ id }) => id), end: allowed ? "allowed" : "denied" });
        },
        (thrown: unknown) => {
          setProblem(asProblem(thrown));
        },
      );
    },
    [send],
  );
  return {
    queue,
    problem,
    answer,
    read: useCallback((pending) => {
      happen({ is: "read", pending });
    }, []),
    move: useCallback((by) => {
      setProblem(null);
      happen({ is: "moved", by });
    }, []),
    shown: useCallback(() => {
      happen({ is: "shown" });
    }, []),
  };
}
