import { useCallback, useRef, useState } from "react";

import type { UserError, ResultView } from "../generated/types";
import { toUserError } from "../platform";

type State = { shown: ResultView | null; error: UserError | null; busy: boolean };

const nothing: State = { shown: null, error: null, busy: false };

/** State of a request to a server. A stopped or superseded request is ignored. */
export function useResultRequest() {
  const [state, setState] = useState(nothing);
  const round = useRef(0);
  const run = useCallback(async (request: Promise<ResultView>): Promise<ResultView | null> => {
    const mine = ++round.current;
    setState((before) => ({ ...before, error: null, busy: true }));
    try {
      const shown = await request;
      if (round.current !== mine) return null;
      setState({ ...nothing, shown });
      return shown;
    } catch (thrown) {
      if (round.current === mine) setState({ ...nothing, error: toUserError(thrown) });
      return null;
    }
  }, []);
  /** Waits no longer; what was shown before stays. */
  const stop = useCallback(() => {
    round.current += 1;
    setState((before) => ({ ...before, busy: false }));
  }, []);
  const forget = useCallback(() => {
    round.current += 1;
    setState(nothing);
  }, []);
  return { ...state, run, stop, forget };
}
