import { useCallback, useRef, useState } from "react";

import { useCore } from "../core/CoreProvider";
import { stopRun } from "../core/stopRun";
import type { UserError, ResultView } from "../generated/types";
import { toUserError } from "../platform";

type State = {
  shown: ResultView | null;
  error: UserError | null;
  /** The name of the run that is under way. */
  running: string | null;
};

const nothing: State = { shown: null, error: null, running: null };

/** State of a request to a server. A cancelled or superseded request is ignored. */
export function useResultRequest() {
  const { platform } = useCore();
  const [state, setState] = useState(nothing);
  const latest = useRef<string | null>(null);
  /** Makes a request, which gets the name that it can be cancelled by. */
  const run = useCallback(async (request: (id: string) => Promise<ResultView>): Promise<ResultView | null> => {
    const mine = crypto.randomUUID();
    latest.current = mine;
    setState((before) => ({ ...before, error: null, running: mine }));
    try {
      const shown = await request(mine);
      if (latest.current !== mine) return null;
      setState({ ...nothing, shown });
      return shown;
    } catch (thrown) {
      if (latest.current === mine) setState({ ...nothing, error: toUserError(thrown) });
      return null;
    }
  }, []);
  /** Cancels the request, also at the server; what was shown before stays. */
  const cancel = useCallback(() => {
    const id = latest.current;
    latest.current = null;
    setState((before) => ({ ...before, running: null }));
    if (id !== null) stopRun(platform, id);
  }, [platform]);
  const forget = useCallback(() => {
    latest.current = null;
    setState(nothing);
  }, []);
  return { ...state, busy: state.running !== null, run, cancel, forget };
}
