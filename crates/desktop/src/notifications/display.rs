//! What a toolkit shows for the shell. Must never know when or why.

use gatehouse_model::ServerId;

/// What a notification is about. A notification replaces the one with the same tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotificationTag {
    /// The pending approvals.
    Approvals,
    /// A server that needs the user.
    Server(ServerId),
    /// Several servers that need the user.
    Servers,
}

/// A notification as it is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNotification {
    pub tag: NotificationTag,
    pub title: String,
    pub body: String,
    /// Label of its only action, which is also what a click does.
    pub open: String,
    /// Whether the desktop's sound goes with it.
    pub has_sound: bool,
}

/// Shows notifications. A desktop without them is not an error.
pub trait NotificationDisplay: Send + Sync {
    /// Shows a notification. A click on it calls [`crate::Desktop::on_notification_clicked`].
    fn show_notification(&self, notification: SystemNotification);

    /// Takes a notification back, where the desktop can.
    fn close_notification(&self, tag: &NotificationTag);

    /// Shows the number of pending approvals on the application's icon, where the desktop can.
    fn set_badge(&self, count: u32);

    /// Whether the user works in the main window.
    fn is_main_focused(&self) -> bool;
}
