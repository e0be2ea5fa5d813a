// The only door to what is outside of the page. Everything else in the interface knows `Platform`
// alone, so the same interface can be put on another base, or on none in a test.

export type { Language as PreferredLanguage, Platform, Preferences, Theme } from "./platform";
export { asProblem } from "./problem";
export { tauriPlatform } from "./tauri";
