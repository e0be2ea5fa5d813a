import { notifications } from "@mantine/notifications";

import { showProblem, useAction } from "../core/useAction";
import type { PolicyAutoApprove } from "../generated/types";
import { useMessages } from "../messages";
import { asProblem } from "../platform";

/** Sets what runs without asking; says on which servers it could not be set, since nothing is known of their tools. */
export function useAutoApprove(): { run: (args: PolicyAutoApprove) => Promise<boolean>; busy: boolean } {
  const t = useMessages();
  const set = useAction("policy.autoApprove");
  return {
    busy: set.busy,
    run: async (args) => {
      try {
        const { unknown } = await set.ask(args);
        if (unknown.length > 0) {
          notifications.show({ color: "yellow", message: t("preset.unknown", { servers: unknown.join(", ") }), autoClose: 10_000 });
        }
        return true;
      } catch (thrown) {
        showProblem(asProblem(thrown));
        return false;
      }
    },
  };
}
