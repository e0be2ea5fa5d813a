//! System notifications: approvals that wait while the prompt cannot be seen, and servers that need the user (UI-4).
//! A task receives what happens and carries out the effects of its state machine. A notification only leads to a
//! window: it can never answer anything, and it never shows arguments or secrets.

mod decision;
mod display;
mod words;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::command::{ApprovalsList, ServersList};
use gatehouse_model::{Event, PendingApproval, ServerId};
use tokio::sync::mpsc;

use decision::{NotificationEffect, NotificationInput, Notifications, WaitingRequest};
use words::NotificationWords;

pub use display::{NotificationDisplay, NotificationTag, SystemNotification};

use crate::host::Host;
use crate::i18n::Locale;
use crate::preferences::Preferences;
use crate::prompt::Prompt;
use crate::request_words::RequestWords;

/// What of the preferences concerns notifications.
#[derive(Clone, Copy, Debug)]
struct NotificationSettings {
    enabled: bool,
    has_sound: bool,
    locale: Locale,
}

impl From<&Preferences> for NotificationSettings {
    fn from(preferences: &Preferences) -> Self {
        Self {
            enabled: preferences.notifications,
            has_sound: preferences.notification_sound,
            locale: Locale::from_preference(preferences.language),
        }
    }
}

/// Messages for the task.
enum NotifierMessage {
    /// An input of the state machine.
    Input(NotificationInput),
    /// Events may have been missed: read everything.
    Reread,
    Settings(NotificationSettings),
}

/// Handle to the task.
#[derive(Clone)]
pub(crate) struct Notifier {
    inbox: mpsc::UnboundedSender<NotifierMessage>,
}

/// The receiving end, run as a task.
pub(crate) struct NotifierDriver {
    outbox: mpsc::UnboundedReceiver<NotifierMessage>,
    host: Host,
    prompt: Prompt,
    display: Arc<dyn NotificationDisplay>,
    settings: NotificationSettings,
    notifications: Notifications,
}

impl Notifier {
    pub(crate) fn new(
        host: Host,
        prompt: Prompt,
        display: Arc<dyn NotificationDisplay>,
        preferences: &Preferences,
    ) -> (Self, NotifierDriver) {
        let (inbox, outbox) = mpsc::unbounded_channel();
        let settings = NotificationSettings::from(preferences);
        let notifications = Notifications::new(settings.enabled);
        (Self { inbox }, NotifierDriver { outbox, host, prompt, display, settings, notifications })
    }

    /// Handles an event of the core.
    pub(crate) fn on_event(&self, event: &Event) {
        if let Some(input) = notification_input(event) {
            self.send(NotifierMessage::Input(input));
        }
    }

    /// Reads what is pending and how the servers are: the core has started, or events were missed.
    pub(crate) fn reread(&self) {
        self.send(NotifierMessage::Reread);
    }

    pub(crate) fn apply_preferences(&self, preferences: &Preferences) {
        self.send(NotifierMessage::Settings(preferences.into()));
    }

    /// After the application has ended there is no receiver, and nothing to do.
    fn send(&self, message: NotifierMessage) {
        if self.inbox.send(message).is_err() {
            tracing::debug!("nothing is notified any more");
        }
    }
}

impl NotifierDriver {
    /// Runs until the application ends.
    pub(crate) async fn run(mut self) {
        loop {
            let message = match self.notifications.next_wakeup() {
                None => self.outbox.recv().await,
                Some(at) => match tokio::time::timeout_at(at.into(), self.outbox.recv()).await {
                    Ok(message) => message,
                    Err(_) => Some(NotifierMessage::Input(self.look().await)),
                },
            };
            match message {
                None => return,
                Some(NotifierMessage::Input(input)) => self.apply(input).await,
                Some(NotifierMessage::Reread) => self.reread().await,
                Some(NotifierMessage::Settings(settings)) => {
                    self.settings = settings;
                    self.apply(NotificationInput::Enabled(settings.enabled)).await;
                }
            }
        }
    }

    async fn look(&self) -> NotificationInput {
        let prompt = self.prompt.sight().await;
        NotificationInput::Looked { prompt, is_main_focused: self.display.is_main_focused() }
    }

    async fn reread(&mut self) {
        match self.host.run(&ApprovalsList { known: Vec::new() }).await {
            Ok(all) => {
                self.apply(NotificationInput::Snapshot(all.iter().map(waiting_request).collect())).await
            }
            Err(error) => tracing::warn!(%error, "the pending approvals could not be read"),
        }
        match self.host.run(&ServersList {}).await {
            Ok(all) => {
                for view in all {
                    self.apply(NotificationInput::Status(view.config.id, view.status)).await;
                }
            }
            Err(error) => tracing::warn!(%error, "the servers could not be read"),
        }
    }

    async fn apply(&mut self, input: NotificationInput) {
        let effects = self.notifications.transition(input, Instant::now());
        let tells_server =
            effects.iter().any(|effect| matches!(effect, NotificationEffect::TellServer { .. }));
        let names = if tells_server { self.server_names().await } else { HashMap::new() };
        let locale = self.settings.locale;
        for effect in effects {
            match effect {
                NotificationEffect::TellApprovals { count, latest } => {
                    self.show(NotificationTag::Approvals, words::approvals(count, &latest, locale));
                }
                NotificationEffect::TellServer { server, trouble } => {
                    let name = names.get(&server).map_or("", String::as_str);
                    let words = words::server(name, trouble, locale);
                    self.show(NotificationTag::Server(server), words);
                }
                NotificationEffect::TellServers { count } => {
                    self.show(NotificationTag::Servers, words::servers(count, locale));
                }
                NotificationEffect::Close(tag) => self.display.close_notification(&tag),
                NotificationEffect::Badge(count) => self.display.set_badge(count),
            }
        }
    }

    fn show(&self, tag: NotificationTag, NotificationWords { title, body }: NotificationWords) {
        let open = self.settings.locale.text("shell.notify.open");
        let has_sound = self.settings.has_sound;
        self.display.show_notification(SystemNotification { tag, title, body, open, has_sound });
    }

    async fn server_names(&self) -> HashMap<ServerId, String> {
        match self.host.run(&ServersList {}).await {
            Ok(all) => all.into_iter().map(|view| (view.config.id, view.config.name)).collect(),
            Err(error) => {
                tracing::warn!(%error, "the names of servers could not be read");
                HashMap::new()
            }
        }
    }
}

/// What an event means for notifications.
fn notification_input(event: &Event) -> Option<NotificationInput> {
    match event {
        Event::ApprovalRequested { pending } => Some(NotificationInput::Requested(waiting_request(pending))),
        Event::ApprovalResolved { approval, .. }
        | Event::ApprovalExpired { approval }
        | Event::ApprovalWithdrawn { approval } => Some(NotificationInput::Ended(approval.clone())),
        Event::StatusChanged { server, status, .. } => {
            Some(NotificationInput::Status(server.clone(), status.clone()))
        }
        Event::ServerRemoved { server, .. } => Some(NotificationInput::ServerGone(server.clone())),
        _ => None,
    }
}

fn waiting_request(pending: &PendingApproval) -> WaitingRequest {
    WaitingRequest { id: pending.id.clone(), words: RequestWords::from(&pending.request) }
}
