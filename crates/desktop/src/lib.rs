//! What a desktop shell does and no window toolkit knows: it hosts the core, decides when the prompt
//! window is shown, which window may run which command, what the tray and notifications say, and how the vault is
//! opened.
//! A toolkit implements [`Platform`] and [`PromptWindow`]. It makes no decision about calls, and it must
//! never pass a secret to a window.

mod bundle_file;
mod commands;
mod desktop;
mod event_forwarder;
mod host;
mod i18n;
mod links;
mod listen_address;
mod main_page;
mod notifications;
mod page_state;
mod platform;
mod preferences;
mod prompt;
mod request_words;
mod secrets;
mod server_link;
mod tray;
mod updates;
mod window_commands;
mod window_placement;

pub use desktop::{Desktop, DesktopOptions, DesktopStart};
pub use links::BrowserLauncher;
pub use main_page::{MainPageSignal, PageSink, PageTarget};
pub use notifications::{NotificationDisplay, NotificationTag, SystemNotification};
pub use platform::{LoginItem, Platform};
pub use preferences::{LanguagePreference, Preferences, PreferencesStore, Theme};
pub use prompt::{PromptSight, PromptSignal, PromptWindow};
pub use secrets::{KeychainUse, PassphraseResult, VaultView};
pub use server_link::server_link_in;
pub use tray::{TrayAction, TrayDisplay, TrayIconState, TrayMenu};
pub use updates::{UpdateProgress, UpdateSource, UpdateStatus};
pub use window_commands::{WINDOW_COMMANDS, WindowCommand, WindowKind};
pub use window_placement::{ScreenArea, WindowPlacement};
