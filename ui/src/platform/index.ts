// The only access to what is outside of the page. Everything else in the interface uses `Platform` and
// `PromptPlatform` alone; which base they stand on is chosen when the page is built (`#base`).

export {
  defaultPreferences,
  type MainSignal,
  type Platform,
  type PreferredLanguage,
  type Preferences,
  type PromptPlatform,
  type PromptSignal,
  type Unsubscribe,
  type Theme,
  type PassphraseOutcome,
  type Vault,
  type VaultFault,
} from "./platform";
export { toUserError } from "./userError";
