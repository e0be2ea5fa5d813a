//! What the application has on the desktop besides its windows: tray, notifications, global shortcut and
//! preferences.
//!
//! Must never allow a call, answer an approval request or end a pause without the user's click.

pub(crate) mod notifications;
pub(crate) mod preferences;
pub(crate) mod shortcut;
pub(crate) mod tray;
pub(crate) mod updates;
