//! What the application has on the desktop besides its windows.

pub(crate) mod preferences;
pub(crate) mod shortcut;
pub(crate) mod tray;
