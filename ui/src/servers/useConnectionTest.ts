import { useRef, useState } from "react";

import { useAction } from "../core/useAction";
import type { FieldSecret, UserError, ServerDraft, TestReport } from "../generated/types";
import { asProblem } from "../platform";

export type Test = { running: boolean; report: TestReport | null; problem: UserError | null };

const nothing: Test = { running: false, report: null, problem: null };

/** Tries a server out. A test that was stopped or overtaken by another has nothing more to say. */
export function useTest() {
  const { ask } = useAction("servers.test");
  const [test, setTest] = useState(nothing);
  const round = useRef(0);
  const forget = () => {
    round.current += 1;
    setTest(nothing);
  };
  const run = async (draft: ServerDraft, secrets: FieldSecret[]) => {
    const mine = ++round.current;
    const say = (end: Test) => {
      if (round.current === mine) setTest(end);
    };
    say({ ...nothing, running: true });
    try {
      say({ ...nothing, report: await ask({ draft, secrets }) });
    } catch (thrown) {
      say({ ...nothing, problem: asProblem(thrown) });
    }
  };
  return { test, run, forget };
}
