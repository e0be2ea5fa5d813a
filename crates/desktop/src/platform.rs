//! What the shell needs from the toolkit besides the prompt window. Implementations only do what they
//! are told; they contain no rules.

use std::path::PathBuf;

use gatehouse_model::BoxFuture;

use crate::links::BrowserLauncher;
use crate::notifications::NotificationDisplay;
use crate::preferences::PreferencesStore;
use crate::tray::TrayDisplay;
use crate::updates::UpdateSource;

/// The system's list of what starts at login.
pub trait LoginItem: Send + Sync {
    /// Whether Gatehouse is in the list.
    fn starts_at_login(&self) -> Result<bool, String>;

    /// Adds Gatehouse to the list, to start without a window, or removes it.
    fn set_starts_at_login(&self, starts: bool) -> Result<(), String>;
}

/// The toolkit's side of the shell.
pub trait Platform:
    BrowserLauncher + PreferencesStore + TrayDisplay + NotificationDisplay + LoginItem + UpdateSource
{
    /// Brings the main window to the front, also if it is minimised or closed.
    fn raise_main(&self);

    /// Closes the main window, which frees its page.
    fn close_main(&self);

    /// Lets the user choose a file with one of these endings, in the system's dialog.
    fn pick_file(&self, endings: Vec<String>) -> BoxFuture<'static, Option<PathBuf>>;

    /// Ends the application. The toolkit calls [`crate::Desktop::may_exit`] before it does.
    fn exit(&self);
}
