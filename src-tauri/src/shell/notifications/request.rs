//! What the task of notifications is told.

use gatehouse_desktop::{NotificationTag, SystemNotification};

/// What is to be done with a notification.
pub(super) enum NotificationRequest {
    Show(SystemNotification),
    Close(NotificationTag),
}
