import { useAction } from "../core/useAction";
import { useLatestRun } from "../core/useLatestRun";
import { useNamedRun } from "../core/useNamedRun";
import type { FieldSecret, UserError, ServerDraft, TestReport } from "../generated/types";

type ConnectionTest = { running: boolean; report: TestReport | null; error: UserError | null };

/** Tests a connection. A stopped or superseded test ends in the core too, and its result is ignored. */
export function useConnectionTest() {
  const { request } = useAction("servers.test");
  const { latest, run, forget } = useLatestRun<TestReport>(useNamedRun());
  const { running, reply, error } = latest;
  const test: ConnectionTest = { running, report: reply, error };
  return {
    test,
    run: async (draft: ServerDraft, secrets: FieldSecret[]) => {
      await run((name) => request({ draft, secrets, run: name }));
    },
    forget,
  };
}
