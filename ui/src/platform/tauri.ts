import { Channel, invoke } from "@tauri-apps/api/core";

import { mainOver, promptOver } from "./shellCommands";
import type { Stop } from "./platform";
import { asProblem } from "./userError";

async function ask<Reply>(command: string, args: Record<string, unknown> = {}): Promise<Reply> {
  try {
    return await invoke<Reply>(command, args);
  } catch (thrown) {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- problems are data, with no stack to show
    throw asProblem(thrown);
  }
}

/** Listens on a channel of the shell's. */
function listen(command: string, heard: (message: never) => void): Stop {
  let ended = false;
  const channel = new Channel<never>((message) => {
    if (!ended) heard(message);
  });
  ask(command, { channel }).catch(() => {
    // Without the channel the page is as old as its last reading, which fails and says so by itself.
  });
  return () => {
    ended = true;
  };
}

/** The windows in Gatehouse itself. */
export const platform = mainOver({ ask, listen });
export const promptPlatform = promptOver({ ask, listen });
