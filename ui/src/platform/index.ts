// The only door to what is outside of the page. Everything else in the interface knows `Platform` and
// `PromptPlatform` alone; which base they stand on is chosen when the page is built (`#base`).

export {
  defaultPreferences,
  type MainSignal,
  type Platform,
  type PreferredLanguage,
  type Preferences,
  type PromptPlatform,
  type PromptSignal,
  type Stop,
  type Theme,
  type Tried,
  type Vault,
  type VaultFault,
} from "./platform";
export { asProblem } from "./userError";
