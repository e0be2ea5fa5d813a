import { Channel, invoke as tauriInvoke } from "@tauri-apps/api/core";

import { createMainPlatform, createPromptPlatform } from "./shellCommands";
import type { Unsubscribe } from "./platform";
import { toUserError } from "./userError";

async function invoke<Reply>(command: string, args: Record<string, unknown> = {}): Promise<Reply> {
  try {
    return await tauriInvoke<Reply>(command, args);
  } catch (thrown) {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- user errors are data, with no stack to show
    throw toUserError(thrown);
  }
}

/** Listens on a channel of the shell's. */
function listen(command: string, heard: (message: never) => void): Unsubscribe {
  let ended = false;
  const channel = new Channel<never>((message) => {
    if (!ended) heard(message);
  });
  invoke(command, { channel }).catch(() => {
    // Without the channel the page is as old as its last reading, which fails and says so by itself.
  });
  return () => {
    ended = true;
  };
}

/** The windows in Gatehouse itself. */
export const platform = createMainPlatform({ invoke, listen });
export const promptPlatform = createPromptPlatform({ invoke, listen });
