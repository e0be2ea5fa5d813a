//! Notifications by the specification of freedesktop.org, over the session bus. Must never block a task: a desktop
//! that does not answer loses its notifications, and nothing else.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use gatehouse_desktop::{Desktop, NotificationTag, SystemNotification};
use tauri::{AppHandle, Manager as _};
use tokio::sync::mpsc;
use zbus::message::Type;
use zbus::zvariant::Value;
use zbus::{Connection, MatchRule, Message, MessageStream};

use super::launcher_badge::{DESKTOP_ENTRY, LauncherBadge};
use super::request::NotificationRequest;

/// Name of the service, and of its interface.
const SERVICE: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";

/// Name of the application's icon, as the packages install it.
const ICON: &str = "gatehouse";

/// From the sound naming specification.
const SOUND: &str = "message-new-instant";

/// Key of the action of a click on the notification itself.
const DEFAULT_ACTION: &str = "default";

/// Signals that may wait to be read.
const QUEUED_SIGNALS: usize = 64;

/// How long the desktop may take to do one thing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The desktop's notification service, and what it shows for us.
struct NotificationService {
    connection: Connection,
    signals: MessageStream,
    shown: HashMap<NotificationTag, u32>,
}

/// Shows and closes notifications, and shows the badge, until the application ends. The service is connected to when it is
/// first needed.
pub(super) async fn run(mut outbox: mpsc::UnboundedReceiver<NotificationRequest>, app: AppHandle) {
    let mut service: Option<NotificationService> = None;
    let mut badge = LauncherBadge::default();
    loop {
        tokio::select! {
            request = outbox.recv() => match request {
                Some(NotificationRequest::Show(notification)) => {
                    if !in_time("notification", show(&mut service, notification)).await {
                        service = None;
                    }
                }
                Some(NotificationRequest::Close(tag)) => {
                    if let Some(shown) = &mut service
                        && !in_time("end of a notification", shown.close(&tag)).await
                    {
                        service = None;
                    }
                }
                Some(NotificationRequest::Badge(count)) => {
                    in_time("badge", badge.set(count)).await;
                }
                None => return,
            },
            signal = next_signal(&mut service) => match signal {
                Some(Ok(message)) => {
                    if let Some(tag) = service.as_mut().and_then(|service| service.clicked(&message)) {
                        app.state::<Desktop>().on_notification_clicked(tag);
                    }
                }
                Some(Err(error)) => tracing::debug!(%error, "a signal of the notification service is unreadable"),
                None => service = None,
            },
        }
    }
}

/// Whether this was done, and soon enough.
async fn in_time(what: &str, action: impl Future<Output = zbus::Result<()>>) -> bool {
    match tokio::time::timeout(ANSWER_TIMEOUT, action).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => tracing::warn!(%error, "no {what}"),
        Err(_) => tracing::warn!("no {what}: the desktop does not answer"),
    }
    false
}

/// The next signal of the service; `None` when its connection has ended. Without a service there is none.
async fn next_signal(service: &mut Option<NotificationService>) -> Option<zbus::Result<Message>> {
    match service {
        Some(service) => service.signals.next().await,
        None => std::future::pending().await,
    }
}

async fn show(
    service: &mut Option<NotificationService>,
    notification: SystemNotification,
) -> zbus::Result<()> {
    let service = match service {
        Some(service) => service,
        None => service.insert(NotificationService::connect().await?),
    };
    service.show(notification).await
}

impl NotificationService {
    async fn connect() -> zbus::Result<Self> {
        let connection = Connection::session().await?;
        let rule = MatchRule::builder()
            .msg_type(Type::Signal)
            .sender(SERVICE)?
            .path(PATH)?
            .interface(SERVICE)?
            .build();
        let signals = MessageStream::for_match_rule(rule, &connection, Some(QUEUED_SIGNALS)).await?;
        Ok(Self { connection, signals, shown: HashMap::new() })
    }

    /// Shows a notification, in the place of the one with the same tag.
    async fn show(&mut self, notification: SystemNotification) -> zbus::Result<()> {
        let SystemNotification { tag, title, body, open, has_sound } = notification;
        let sound = if has_sound {
            ("sound-name", Value::from(SOUND))
        } else {
            ("suppress-sound", Value::from(true))
        };
        let hints = HashMap::from([("desktop-entry", Value::from(DESKTOP_ENTRY)), sound]);
        let replaces = self.shown.get(&tag).copied().unwrap_or(0);
        let actions = vec![DEFAULT_ACTION, open.as_str()];
        // Last, how long it is shown: as the desktop likes.
        let message = ("Gatehouse", replaces, ICON, title.as_str(), body.as_str(), actions, hints, -1_i32);
        let reply =
            self.connection.call_method(Some(SERVICE), PATH, Some(SERVICE), "Notify", &message).await?;
        let id: u32 = reply.body().deserialize()?;
        self.shown.insert(tag, id);
        Ok(())
    }

    async fn close(&mut self, tag: &NotificationTag) -> zbus::Result<()> {
        let Some(id) = self.shown.remove(tag) else { return Ok(()) };
        // Refused where it is gone already.
        let closed = self
            .connection
            .call_method(Some(SERVICE), PATH, Some(SERVICE), "CloseNotification", &(id,))
            .await;
        if let Err(error) = closed {
            tracing::debug!(%error, "a notification could not be closed");
        }
        Ok(())
    }

    /// What was clicked, if this signal says so. A notification that is gone is forgotten.
    fn clicked(&mut self, message: &Message) -> Option<NotificationTag> {
        let header = message.header();
        let body = message.body();
        match header.member()?.as_str() {
            "ActionInvoked" => {
                let (id, _action): (u32, String) = body.deserialize().ok()?;
                self.shown.iter().find(|(_, shown)| **shown == id).map(|(tag, _)| tag.clone())
            }
            "NotificationClosed" => {
                let (id, _reason): (u32, u32) = body.deserialize().ok()?;
                self.shown.retain(|_, shown| *shown != id);
                None
            }
            _ => None,
        }
    }
}
