import type { Platform } from "../platform";

/** Cancels what the user began under a name, also at its server. */
export function stopRun(platform: Platform, run: string): void {
  // What has ended by itself meanwhile needs no word.
  platform.command("servers.stopRun", { run }).catch(() => undefined);
}
