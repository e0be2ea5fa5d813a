import type { Platform, PromptPlatform, Unsubscribe } from "./platform";

/** Transport to the shell: requests and channels. */
export type ShellTransport = {
  invoke: <Reply>(command: string, args?: Record<string, unknown>) => Promise<Reply>;
  /** Subscribes to a channel; the listener knows the type of its messages. */
  listen: (command: string, heard: (message: never) => void) => Unsubscribe;
};

/** The platform of the main window over a transport. */
export function createMainPlatform({ invoke, listen }: ShellTransport): Platform {
  return {
    command: (name, args) => invoke("command", { name, args }),
    events: (heard) => listen("events", heard),
    signals: (heard) => listen("main_signals", heard),
    startAgain: () => invoke("start_again"),
    vault: () => invoke("vault"),
    unlockVault: (passphrase) => invoke("unlock_vault", { passphrase }),
    putVaultAside: () => invoke("put_vault_aside"),
    makeVault: (passphrase) => invoke("make_vault", { passphrase }),
    changePassphrase: (old, wanted) => invoke("change_passphrase", { old, new: wanted }),
    preferences: () => invoke("preferences"),
    setPreferences: (preferences) => invoke("set_preferences", { preferences }),
    pageState: () => invoke("page_state"),
    setPageState: (name, value) => invoke("set_page_state", { name, value }),
    updateStatus: () => invoke("update_status"),
    checkUpdate: () => invoke("check_update"),
    installUpdate: () => invoke("install_update"),
    cancelUpdate: () => invoke("cancel_update"),
    hasPauseShortcut: () => invoke("has_pause_shortcut"),
    startsAtLogin: () => invoke("starts_at_login"),
    setStartsAtLogin: (starts) => invoke("set_starts_at_login", { starts }),
    openLink: (address) => invoke("open_link", { address }),
    pickFile: (endings) => invoke("pick_file", { endings }),
    showPrompt: () => invoke("show_prompt"),
    close: () => invoke("close_main"),
    quit: () => invoke("quit"),
    painted: () => invoke("painted"),
  };
}

/** The platform of the prompt window over a transport. */
export function createPromptPlatform({ invoke, listen }: ShellTransport): PromptPlatform {
  return {
    pending: (known) => invoke("prompt_pending", { known }),
    answer: (answers) => invoke("prompt_answer", { answers }),
    reveal: ({ id, hash, argument }) => invoke("prompt_reveal", { id, hash, argument }),
    generate: (id, run) => invoke("prompt_generate", { id, run }),
    stopGenerating: (run) => invoke("prompt_stop_generating", { run }),
    opinion: ({ id, hash }) => invoke("prompt_opinion", { id, hash }),
    trustLabels: ({ id, hash, trusted }) => invoke("prompt_trust_labels", { id, hash, trusted }),
    signals: (heard) => listen("prompt_signals", heard),
    preferences: () => invoke("prompt_preferences"),
    putAway: () => invoke("prompt_put_away"),
    fit: (height) => invoke("prompt_fit", { height }),
    openMain: () => invoke("prompt_open_main"),
    openLink: (address) => invoke("prompt_open_link", { address }),
  };
}
