//! What a desktop shell does and no window toolkit knows: it hosts the core, decides when the prompt
//! window is shown, which window may run which command, what the tray says, and how the vault is opened.
//! A toolkit implements [`Platform`] and [`PromptWindow`]. It makes no decision about calls, and it must
//! never pass a secret to a window.

mod commands;
mod desktop;
mod event_forwarder;
mod host;
mod i18n;
mod links;
mod listen_address;
mod main_page;
mod platform;
mod preferences;
mod prompt;
mod secrets;
mod tray;
mod window_commands;

pub use desktop::{Desktop, DesktopOptions, DesktopStart};
pub use links::BrowserLauncher;
pub use main_page::{MainPageSignal, PageSink, PageTarget};
pub use platform::Platform;
pub use preferences::{LanguagePreference, Preferences, PreferencesStore, Theme};
pub use prompt::{PromptSignal, PromptWindow};
pub use secrets::{KeychainUse, PassphraseResult, VaultView};
pub use tray::{TrayAction, TrayDisplay, TrayIconState, TrayMenu};
pub use window_commands::{WINDOW_COMMANDS, WindowCommand, WindowKind};
