import { useCallback, useRef, useState } from "react";

import { useAction } from "../core/useAction";
import { useNamedRun } from "../core/useNamedRun";
import type { FieldSecret, UserError, ServerDraft, TestReport } from "../generated/types";
import { toUserError } from "../platform";

export type ConnectionTest = { running: boolean; report: TestReport | null; error: UserError | null };

const nothing: ConnectionTest = { running: false, report: null, error: null };

/** Tests a connection. A stopped or superseded test ends in the core too, and its result is ignored. */
export function useConnectionTest() {
  const { request } = useAction("servers.test");
  const { begin, stop } = useNamedRun();
  const [test, setTest] = useState(nothing);
  const round = useRef(0);
  const forget = useCallback(() => {
    round.current += 1;
    stop();
    setTest(nothing);
  }, [stop]);
  const run = async (draft: ServerDraft, secrets: FieldSecret[]) => {
    stop();
    const mine = ++round.current;
    const say = (end: ConnectionTest) => {
      if (round.current === mine) setTest(end);
    };
    say({ ...nothing, running: true });
    try {
      say({ ...nothing, report: await begin((name) => request({ draft, secrets, run: name })) });
    } catch (thrown) {
      const error = toUserError(thrown);
      say(error.code === "cancelled" ? nothing : { ...nothing, error });
    }
  };
  return { test, run, forget };
}
