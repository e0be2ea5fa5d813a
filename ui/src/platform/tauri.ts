import { Channel, invoke } from "@tauri-apps/api/core";

import type { Envelope, StatusReport } from "../gen/types";
import type { Platform, Preferences } from "./platform";
import { asProblem } from "./problem";

async function ask<Reply>(command: string, args: Record<string, unknown> = {}): Promise<Reply> {
  try {
    return await invoke<Reply>(command, args);
  } catch (thrown) {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- problems are data, with no stack to show
    throw asProblem(thrown);
  }
}

/** The interface in Gatehouse's own window. */
export const tauriPlatform: Platform = {
  status: () => ask<StatusReport>("status"),
  startAgain: () => ask("start_again"),
  watch: (changed) => {
    let ended = false;
    const channel = new Channel<Envelope | null>(() => {
      if (!ended) changed();
    });
    ask("events", { channel }).catch(() => {
      // Without events the page is as old as its last reading, which the status shows by itself.
    });
    return () => {
      ended = true;
    };
  },
  preferences: () => ask<Preferences>("preferences"),
  setPreferences: (preferences) => ask("set_preferences", { preferences }),
  openLink: (address) => ask("open_link", { address }),
};
