import { useEffect, useRef } from "react";

import type { CallStatistics, CallStatisticsQuery, UserError } from "../generated/types";
import { useCoreQuery } from "./useCoreQuery";

/** How often figures are read again while they are shown, in milliseconds. Reading them after each call would be a load. */
const AGAIN_MS = 5000;

/** Minutes that the clock here is ahead of UTC. */
export const utcOffset = (): number => -new Date().getTimezoneOffset();

/** Figures about calls, read again as long as they are shown. */
export function useStatistics(query: CallStatisticsQuery): {
  data: CallStatistics | undefined;
  error: UserError | null;
  loading: boolean;
} {
  const { data, error, loading, refetch } = useCoreQuery("calls.statistics", { query });
  const again = useRef(refetch);
  useEffect(() => {
    again.current = refetch;
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void again.current();
    }, AGAIN_MS);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return { data, error, loading };
}
