import { useMemo, type ReactNode } from "react";

import { useCore } from "../core/CoreProvider";
import { stopRun } from "../core/stopRun";
import { ApprovalModelsContext, askOnce } from "./ApprovalModelsContext";

/** Lets all cards of the main window ask the user's models. */
export function MainApprovalModels({ children }: { children: ReactNode }) {
  const { platform } = useCore();
  const models = useMemo(
    () =>
      askOnce({
        generate: (id, run) => platform.command("approvals.generate", { id, run }),
        stop: (run) => {
          stopRun(platform, run);
        },
        opinion: (which) => platform.command("approvals.opinion", which),
      }),
    [platform],
  );
  return <ApprovalModelsContext value={models}>{children}</ApprovalModelsContext>;
}
