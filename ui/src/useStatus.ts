import { useCallback, useEffect, useState } from "react";

import type { Problem, StatusReport } from "./gen/types";
import { asProblem, type Platform } from "./platform";

/** How long events are gathered before the status is read again, in milliseconds. */
const GATHER = 100;

type Status = { report: StatusReport | null; problem: Problem | null };

/** The status, read again whenever something happened. A failed reading keeps the last report. */
export function useStatus(platform: Platform): Status & { tryAgain: () => void } {
  const [status, setStatus] = useState<Status>({ report: null, problem: null });
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      platform.status().then(
        (report) => {
          if (!gone) setStatus({ report, problem: null });
        },
        (thrown: unknown) => {
          if (!gone) setStatus(({ report }) => ({ report, problem: asProblem(thrown) }));
        },
      );
    };
    const stop = platform.watch(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        read();
      }, GATHER);
    });
    read();
    return () => {
      gone = true;
      stop();
      clearTimeout(timer);
    };
  }, [platform, attempt]);

  const tryAgain = useCallback(() => {
    const anew = () => {
      setAttempt((attempt) => attempt + 1);
    };
    // Whether it started is what the next reading says.
    platform.startAgain().then(anew, anew);
  }, [platform]);

  return { ...status, tryAgain };
}
