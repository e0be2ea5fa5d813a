//! What the task of notifications is told.

use gatehouse_desktop::{NotificationTag, SystemNotification};

/// What is to be shown or taken back.
pub(super) enum NotificationRequest {
    Show(SystemNotification),
    Close(NotificationTag),
    /// The number of pending approvals, for the application's icon.
    Badge(u32),
}
