import type { Platform, PromptPlatform, Stop } from "./platform";

/** How requests and channels of the shell travel. */
export type Carrier = {
  ask: <Reply>(command: string, args?: Record<string, unknown>) => Promise<Reply>;
  /** Hands every message to a listener that knows what the command sends. */
  listen: (command: string, heard: (message: never) => void) => Stop;
};

/** The main window over a carrier. */
export function mainOver({ ask, listen }: Carrier): Platform {
  return {
    command: (name, args) => ask("command", { name, args }),
    events: (heard) => listen("events", heard),
    signals: (heard) => listen("main_signals", heard),
    startAgain: () => ask("start_again"),
    vault: () => ask("vault"),
    unlockVault: (passphrase) => ask("unlock_vault", { passphrase }),
    putVaultAside: () => ask("put_vault_aside"),
    makeVault: (passphrase) => ask("make_vault", { passphrase }),
    changePassphrase: (old, wanted) => ask("change_passphrase", { old, new: wanted }),
    preferences: () => ask("preferences"),
    setPreferences: (preferences) => ask("set_preferences", { preferences }),
    openLink: (address) => ask("open_link", { address }),
    showPrompt: () => ask("show_prompt"),
    hide: () => ask("hide_main"),
    quit: () => ask("quit"),
    painted: () => ask("painted"),
  };
}

/** The prompt window over a carrier. */
export function promptOver({ ask, listen }: Carrier): PromptPlatform {
  return {
    pending: (known) => ask("prompt_pending", { known }),
    answer: (answers) => ask("prompt_answer", { answers }),
    reveal: ({ id, hash, argument }) => ask("prompt_reveal", { id, hash, argument }),
    signals: (heard) => listen("prompt_signals", heard),
    preferences: () => ask("prompt_preferences"),
    putAway: () => ask("prompt_put_away"),
    fit: (height) => ask("prompt_fit", { height }),
    openMain: () => ask("prompt_open_main"),
    openLink: (address) => ask("prompt_open_link", { address }),
  };
}
