//! Notifications and the badge on Windows and macOS. Their libraries wait for a click on a thread of their own, so only so
//! many are waited for; a further one is shown, and a click on it opens nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_desktop::{Desktop, SystemNotification};
use notify_rust::{Notification, NotificationResponse};
use tauri::{AppHandle, Manager as _};
use tokio::sync::mpsc;

use super::request::NotificationRequest;
use super::window_badge;

/// Most notifications whose click is waited for.
const MOST_WAITING: usize = 8;

/// The desktop's own sound.
const SOUND: &str = if cfg!(target_os = "macos") { "Ping" } else { "Default" };

/// Shows notifications until the application ends. These systems take none back.
pub(super) async fn run(mut outbox: mpsc::UnboundedReceiver<NotificationRequest>, app: AppHandle) {
    #[cfg(target_os = "macos")]
    if let Err(error) = notify_rust::set_application(&app.config().identifier) {
        tracing::debug!(%error, "notifications have the name of another application");
    }
    let waiting = Arc::new(AtomicUsize::new(0));
    while let Some(request) = outbox.recv().await {
        match request {
            NotificationRequest::Show(notification) => show(&app, &waiting, notification),
            NotificationRequest::Close(tag) => tracing::debug!(?tag, "the notification stays"),
            NotificationRequest::Badge(count) => window_badge::set(&app, count),
        }
    }
}

fn show(app: &AppHandle, waiting: &Arc<AtomicUsize>, notification: SystemNotification) {
    let SystemNotification { tag, title, body, has_sound, .. } = notification;
    let mut shown = Notification::new();
    shown.summary(&title).body(&body);
    if has_sound {
        shown.sound_name(SOUND);
    }
    // Only an installed application is known by its id.
    #[cfg(target_os = "windows")]
    if !cfg!(debug_assertions) {
        shown.app_id(&app.config().identifier);
    }
    let (app, waiting) = (app.clone(), Arc::clone(waiting));
    let started = std::thread::Builder::new().name("notification".to_owned()).spawn(move || {
        let handle = match shown.show() {
            Ok(handle) => handle,
            Err(error) => return tracing::warn!(%error, "no notification"),
        };
        if waiting.fetch_add(1, Ordering::Relaxed) < MOST_WAITING {
            let clicked = |response: &NotificationResponse| {
                if matches!(response, NotificationResponse::Default | NotificationResponse::Action(_)) {
                    app.state::<Desktop>().on_notification_clicked(tag);
                }
            };
            if let Err(error) = handle.wait_for_response(clicked) {
                tracing::debug!(%error, "no click on a notification");
            }
        }
        waiting.fetch_sub(1, Ordering::Relaxed);
    });
    if let Err(error) = started {
        tracing::warn!(%error, "no notification");
    }
}
