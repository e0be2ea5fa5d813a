import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";

import type { Commands } from "../generated/commands";
import type { Removal } from "../generated/types";
import { useMessages, type Translate } from "../messages";
import { toUserError, type Platform } from "../platform";
import { useCore } from "./CoreProvider";
import { offerUndo } from "./pendingUndos";
import { showError, useAction } from "./useAction";

/** How long the notification with Undo is shown; while it has the focus or the pointer, it stays. */
const SHOWN_MS = 8000;

/** Commands that remove something which `removals.undo` can bring back. */
type RemovingCommand = "servers.remove" | "profiles.remove" | "policy.revoke" | "policy.unblock" | "policy.narrow";

export type Remove<Name extends RemovingCommand> = {
  /** Removes something; `removed` says so. Resolves to whether it succeeded. A notification offers to undo it. */
  run: (args: Commands[Name]["args"], removed: string) => Promise<boolean>;
  busy: boolean;
};

/** A command that removes something, with a notification that offers to undo it. */
export function useRemove<Name extends RemovingCommand>(name: Name): Remove<Name> {
  const t = useMessages();
  const { platform } = useCore();
  const { request, busy } = useAction(name);
  return {
    run: async (args, removed) => {
      try {
        const removal: Removal | null = await request(args);
        if (removal !== null) showRemoved({ removal, removed, t, platform });
        return true;
      } catch (thrown) {
        showError(toUserError(thrown));
        return false;
      }
    },
    busy,
  };
}

type Removed = { removal: Removal; removed: string; t: Translate; platform: Platform };

function showRemoved({ removal, removed, t, platform }: Removed) {
  const undo = () => {
    notifications.hide(removal.id);
    platform.command("removals.undo", { removal: removal.id }).then(
      () => {
        notifications.show({ message: t("appShell.undone"), color: "teal", autoClose: 2000 });
      },
      (thrown: unknown) => {
        showError(toUserError(thrown));
      },
    );
  };
  const withdraw = offerUndo(undo);
  notifications.show({
    id: removal.id,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <span>{removed}</span>
        <Button size="xs" variant="default" onClick={undo}>
          {t("appShell.undo")}
        </Button>
      </Group>
    ),
    autoClose: SHOWN_MS,
    onClose: withdraw,
  });
}
