import type { StatusReport } from "../gen/types";

export type Theme = "system" | "light" | "dark";
export type Language = "system" | "en" | "zh-CN";

/** How the user likes the window to look. */
export type Preferences = { theme: Theme; language: Language };

/** What the interface needs from the outside. Every refusal is a `Problem`. */
export type Platform = {
  status(): Promise<StatusReport>;
  /** Calls `changed` whenever something happened; answers with what ends that. */
  watch(changed: () => void): () => void;
  preferences(): Promise<Preferences>;
  setPreferences(preferences: Preferences): Promise<void>;
  /** Opens an address in the user's browser, after a check. */
  openLink(address: string): Promise<void>;
};
