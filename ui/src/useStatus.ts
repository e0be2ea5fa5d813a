import { useCallback, useEffect, useState } from "react";

import type { Problem, StatusReport } from "./gen/types";
import { asProblem, type Platform } from "./platform";

/** How long events are gathered before the status is read again, in milliseconds. */
const GATHER = 100;

type Status = { report: StatusReport | null; problem: Problem | null };

/** The status, read again whenever something happened. A failed reading keeps the last report. */
export function useStatus(platform: Platform): Status & { read: () => void } {
  const [status, setStatus] = useState<Status>({ report: null, problem: null });

  const read = useCallback(() => {
    platform.status().then(
      (report) => {
        setStatus({ report, problem: null });
      },
      (thrown: unknown) => {
        setStatus(({ report }) => ({ report, problem: asProblem(thrown) }));
      },
    );
  }, [platform]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = platform.watch(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        read();
      }, GATHER);
    });
    read();
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [platform, read]);

  return { ...status, read };
}
