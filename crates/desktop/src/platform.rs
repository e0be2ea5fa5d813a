//! What the shell needs from the toolkit besides the prompt window. Implementations only do what they
//! are told; they contain no rules.

use crate::links::BrowserLauncher;
use crate::preferences::PreferencesStore;
use crate::tray::TrayDisplay;

/// The toolkit's side of the shell.
pub trait Platform: BrowserLauncher + PreferencesStore + TrayDisplay {
    /// Brings the main window to the front, also if it is minimised or hidden.
    fn raise_main(&self);

    /// Hides the main window.
    fn hide_main(&self);

    /// Ends the application. The toolkit calls [`crate::Desktop::may_exit`] before it does.
    fn exit(&self);
}
