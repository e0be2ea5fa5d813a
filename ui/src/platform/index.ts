// The only access to what is outside of the page. Everything else in the interface uses `Platform` and
// `PromptPlatform` alone; which base they stand on is chosen when the page is built (`#base`).

export {
  defaultPreferences,
  type Platform,
  type Preferences,
  type PromptPlatform,
  type UpdateStatus,
  type Vault,
  type VaultFault,
} from "./platform";
export { toUserError } from "./userError";
