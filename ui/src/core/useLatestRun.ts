import { useCallback, useRef, useState } from "react";

import type { UserError } from "../generated/types";
import { toUserError } from "../platform";
import type { RunNames } from "./useRunNames";

/** What came of the latest run so far. */
export type LatestRun<Reply> = { running: boolean; reply: Reply | null; error: UserError | null };

const nothing = { running: false, reply: null, error: null };

/** Work of which only the latest run counts. A stopped or superseded run ends in the core too, and its result is ignored. */
export function useLatestRun<Reply>({ begin, stop }: RunNames) {
  const [latest, setLatest] = useState<LatestRun<Reply>>(nothing);
  const round = useRef(0);
  const forget = useCallback(() => {
    round.current += 1;
    stop();
    setLatest(nothing);
  }, [stop]);
  /** Resolves to the reply; to `null` where there is none, or it is ignored. */
  const run = async (work: (run: string) => Promise<Reply>): Promise<Reply | null> => {
    stop();
    const mine = ++round.current;
    const say = (end: LatestRun<Reply>) => {
      if (round.current !== mine) return false;
      setLatest(end);
      return true;
    };
    say({ ...nothing, running: true });
    try {
      const reply = await begin(work);
      return say({ ...nothing, reply }) ? reply : null;
    } catch (thrown) {
      const error = toUserError(thrown);
      say(error.code === "cancelled" ? nothing : { ...nothing, error });
      return null;
    }
  };
  return { latest, run, forget };
}
