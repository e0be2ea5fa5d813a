import { notifications } from "@mantine/notifications";

import { showError, useAction } from "../core/useAction";
import type { PolicyAutoApprove } from "../generated/types";
import { useMessages } from "../messages";
import { toUserError } from "../platform";

/** Sets the auto-approve level; reports the servers whose tools are unknown, where it could not be set. */
export function useAutoApprove(): { run: (args: PolicyAutoApprove) => Promise<boolean>; busy: boolean } {
  const t = useMessages();
  const set = useAction("policy.autoApprove");
  return {
    busy: set.busy,
    run: async (args) => {
      try {
        const { unknown } = await set.request(args);
        if (unknown.length > 0) {
          notifications.show({
            color: "yellow",
            message: t("preset.unknown", { servers: unknown }),
            autoClose: 10_000,
          });
        }
        return true;
      } catch (thrown) {
        showError(toUserError(thrown));
        return false;
      }
    },
  };
}
