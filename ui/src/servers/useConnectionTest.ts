import { useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { FieldSecret, UserError, ServerDraft, TestReport } from "../generated/types";
import { toUserError } from "../platform";

export type ConnectionTest = { running: boolean; report: TestReport | null; error: UserError | null };

const nothing: ConnectionTest = { running: false, report: null, error: null };

/** Tests a connection. A stopped or superseded test is ignored. */
export function useConnectionTest() {
  const { request } = useAction("servers.test");
  const [test, setTest] = useState(nothing);
  const round = useRef(0);
  const forget = () => {
    round.current += 1;
    setTest(nothing);
  };
  const run = async (draft: ServerDraft, secrets: FieldSecret[]) => {
    const mine = ++round.current;
    const say = (end: ConnectionTest) => {
      if (round.current === mine) setTest(end);
    };
    say({ ...nothing, running: true });
    try {
      say({ ...nothing, report: await request({ draft, secrets }) });
    } catch (thrown) {
      say({ ...nothing, error: toUserError(thrown) });
    }
  };
  return { test, run, forget };
}
