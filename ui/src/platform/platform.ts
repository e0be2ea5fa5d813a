import type { StatusReport } from "../gen/types";

export type Theme = "system" | "light" | "dark";
export type Language = "system" | "en" | "zh-CN";

/** How the user likes the window to look. */
export type Preferences = { theme: Theme; language: Language };

/** What the interface needs from the outside. Every refusal is a `Problem`. */
export type Platform = {
  status(): Promise<StatusReport>;
  /** Starts the core once more if it could not be started. */
  startAgain(): Promise<void>;
  /** Calls `changed` whenever something happened; answers with what ends that. */
  watch(changed: () => void): () => void;
  preferences(): Promise<Preferences>;
  setPreferences(preferences: Preferences): Promise<void>;
  /** Opens an address in the user's browser, after a check. */
  openLink(address: string): Promise<void>;
};
