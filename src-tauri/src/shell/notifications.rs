//! System notifications, and the badge on the application's icon. What they say and when is in `gatehouse-desktop`. A
//! desktop without them is not an error.

#[cfg(target_os = "linux")]
mod freedesktop;
#[cfg(target_os = "linux")]
mod launcher_badge;
mod request;
#[cfg(not(target_os = "linux"))]
mod toast;
#[cfg(not(target_os = "linux"))]
mod window_badge;

use gatehouse_desktop::{NotificationTag, SystemNotification};
use tauri::AppHandle;
use tokio::sync::mpsc;

#[cfg(target_os = "linux")]
use freedesktop::run;
use request::NotificationRequest;
#[cfg(not(target_os = "linux"))]
use toast::run;

/// Handle to the task that shows notifications.
pub(crate) struct SystemNotifications {
    inbox: mpsc::UnboundedSender<NotificationRequest>,
}

/// The receiving end, run as a task.
pub(crate) struct NotificationTask {
    outbox: mpsc::UnboundedReceiver<NotificationRequest>,
}

impl SystemNotifications {
    pub(crate) fn new() -> (Self, NotificationTask) {
        let (inbox, outbox) = mpsc::unbounded_channel();
        (Self { inbox }, NotificationTask { outbox })
    }

    pub(crate) fn show(&self, notification: SystemNotification) {
        self.send(NotificationRequest::Show(notification));
    }

    pub(crate) fn close(&self, tag: &NotificationTag) {
        self.send(NotificationRequest::Close(tag.clone()));
    }

    pub(crate) fn set_badge(&self, count: u32) {
        self.send(NotificationRequest::Badge(count));
    }

    /// After the application has ended there is no receiver, and nothing to do.
    fn send(&self, request: NotificationRequest) {
        if self.inbox.send(request).is_err() {
            tracing::debug!("no notification is shown any more");
        }
    }
}

impl NotificationTask {
    /// Runs until the application ends.
    pub(crate) async fn run(self, app: AppHandle) {
        run(self.outbox, app).await;
    }
}
