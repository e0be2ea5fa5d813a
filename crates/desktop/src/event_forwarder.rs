//! Receives every event of the core and forwards it to the main page, the prompt window, the tray and the notifications.
//! Events are hints: the state itself is always read from the core.

use std::time::Duration;

use gatehouse_app::{EventStream, StreamEvent};
use gatehouse_model::client::ClientView;
use gatehouse_model::command::{ApprovalsList, ClientsList, Status};
use gatehouse_model::{Clock as _, Event, EventEnvelope, SystemClock, Timestamp};
use tokio::time::Instant;

use crate::host::{Host, StartOutcome};
use crate::main_page::MainPage;
use crate::notifications::Notifier;
use crate::prompt::{Prompt, PromptInput};
use crate::tray::{Tray, TrayApproval, TrayView};

/// Debounce of the tray: how long it waits for more events before it reads the state.
const TRAY_REFRESH_DELAY: Duration = Duration::from_millis(150);

/// How often it is checked whether a client is still connected, for which the prompt window is kept ready.
const CLIENT_CHECK_PAUSE: Duration = Duration::from_mins(10);

/// How long a client without a session counts as connected after its last request.
const CLIENT_IDLE: Duration = Duration::from_hours(12);

/// Receivers of the events, and the host that they come from.
#[derive(Clone)]
pub(crate) struct EventReceivers {
    pub(crate) host: Host,
    pub(crate) page: MainPage,
    pub(crate) prompt: Prompt,
    pub(crate) tray: Tray,
    pub(crate) notifier: Notifier,
}

struct EventForwarder {
    to: EventReceivers,
    /// When the tray reads the state again.
    refresh_at: Option<Instant>,
    /// When the prompt window is destroyed if no client is connected any more.
    unload_at: Option<Instant>,
    /// The pending approvals, oldest first.
    approvals: Vec<TrayApproval>,
}

/// Reacts to a start of the core. The page has to read again: its data is from another core, or from
/// none.
pub(crate) fn on_core_start(to: &EventReceivers, outcome: StartOutcome) {
    match outcome {
        StartOutcome::Running(events) => start(to, events),
        StartOutcome::Locked => to.tray.set_view(TrayView::Locked, Vec::new()),
        StartOutcome::Failed => to.tray.set_view(TrayView::NotRunning, Vec::new()),
    }
    to.page.send_event(None);
}

/// Starts forwarding; it ends with the core or the host.
fn start(to: &EventReceivers, events: EventStream) {
    let event_forwarder = EventForwarder {
        to: to.clone(),
        refresh_at: Some(Instant::now()),
        unload_at: None,
        approvals: Vec::new(),
    };
    to.host.spawn(event_forwarder.run(events));
}

impl EventForwarder {
    async fn run(mut self, mut events: EventStream) {
        self.read_pending().await;
        self.to.notifier.reread();
        loop {
            let wake_at = self.refresh_at.into_iter().chain(self.unload_at).min();
            let received = match wake_at {
                None => events.next().await,
                Some(at) => match tokio::time::timeout_at(at, events.next()).await {
                    Ok(received) => received,
                    Err(_) => {
                        self.on_wakeup().await;
                        continue;
                    }
                },
            };
            match received {
                None => return,
                Some(StreamEvent::Event(envelope)) => self.forward(&envelope),
                Some(StreamEvent::Missed) => {
                    self.to.page.send_event(None);
                    self.schedule_tray_refresh();
                    self.read_pending().await;
                    self.to.notifier.reread();
                }
            }
        }
    }

    async fn on_wakeup(&mut self) {
        let now = Instant::now();
        if self.refresh_at.take_if(|at| *at <= now).is_some() {
            self.refresh_tray().await;
        }
        if self.unload_at.take_if(|at| *at <= now).is_some() {
            if self.has_connected_client().await {
                self.unload_at = Some(Instant::now() + CLIENT_CHECK_PAUSE);
            } else {
                self.to.prompt.unload();
            }
        }
    }

    /// Whether a client may call a tool any moment.
    async fn has_connected_client(&self) -> bool {
        match self.to.host.run(&ClientsList {}).await {
            Ok(clients) => clients.iter().any(|client| is_connected(client, SystemClock.now())),
            Err(error) => {
                tracing::warn!(%error, "the clients could not be read");
                true
            }
        }
    }

    fn forward(&mut self, envelope: &EventEnvelope) {
        self.to.page.send_event(Some(envelope));
        if matches!(envelope.event, Event::ClientConnected { .. }) {
            self.to.prompt.preload();
            self.unload_at.get_or_insert_with(|| Instant::now() + CLIENT_CHECK_PAUSE);
        }
        if let Some(input) = prompt_input(&envelope.event) {
            self.to.prompt.input(input);
        }
        self.to.notifier.on_event(&envelope.event);
        self.follow_approvals(&envelope.event);
        if is_tray_relevant(&envelope.event) {
            self.schedule_tray_refresh();
        }
    }

    /// Keeps the list of pending approvals up to date.
    fn follow_approvals(&mut self, event: &Event) {
        match prompt_input(event) {
            Some(PromptInput::Requested(id)) => {
                self.approvals.retain(|known| known.id != id);
                if let Event::ApprovalRequested { pending } = event {
                    self.approvals.push(TrayApproval::from(pending));
                }
            }
            Some(PromptInput::Ended(id)) => self.approvals.retain(|known| known.id != id),
            _ => {}
        }
    }

    fn schedule_tray_refresh(&mut self) {
        self.refresh_at.get_or_insert_with(|| Instant::now() + TRAY_REFRESH_DELAY);
    }

    async fn refresh_tray(&self) {
        match self.to.host.run(&Status {}).await {
            Ok(report) => self.to.tray.set_view(TrayView::from(&report), self.approvals.clone()),
            Err(error) => tracing::warn!(%error, "the tray could not read the state"),
        }
    }

    async fn read_pending(&mut self) {
        match self.to.host.run(&ApprovalsList { known: Vec::new() }).await {
            Ok(all) => {
                self.approvals = all.iter().map(TrayApproval::from).collect();
                let ids = all.into_iter().map(|pending| pending.id).collect();
                self.to.prompt.input(PromptInput::Snapshot(ids));
            }
            Err(error) => tracing::warn!(%error, "the pending approvals could not be read"),
        }
    }
}

/// Whether a client has a session, or was seen not long ago.
fn is_connected(client: &ClientView, now: Timestamp) -> bool {
    client.sessions > 0 || client.last_seen.is_some_and(|seen| seen.plus(CLIENT_IDLE) >= now)
}

/// What an event means for the prompt window.
fn prompt_input(event: &Event) -> Option<PromptInput> {
    match event {
        Event::ApprovalRequested { pending } => Some(PromptInput::Requested(pending.id.clone())),
        Event::ApprovalChanged { .. } => Some(PromptInput::Changed),
        Event::ApprovalResolved { approval, .. }
        | Event::ApprovalExpired { approval }
        | Event::ApprovalWithdrawn { approval } => Some(PromptInput::Ended(approval.clone())),
        _ => None,
    }
}

/// Whether an event changes what the tray shows.
fn is_tray_relevant(event: &Event) -> bool {
    match event {
        Event::ServerAdded { .. }
        | Event::ServerRemoved { .. }
        | Event::StatusChanged { .. }
        | Event::RunningServers { .. }
        | Event::ConfigChanged { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalResolved { .. }
        | Event::ApprovalExpired { .. }
        | Event::ApprovalWithdrawn { .. }
        | Event::PauseChanged { .. }
        | Event::SwitchChanged { .. }
        | Event::PermissionsChanged { .. } => true,
        Event::ServerStarted { .. }
        | Event::ServerStopped { .. }
        | Event::ToolsChanged { .. }
        | Event::PromptsChanged { .. }
        | Event::ResourcesChanged { .. }
        | Event::CallStarted { .. }
        | Event::CallProgress { .. }
        | Event::CallTaskChanged { .. }
        | Event::CallFinished { .. }
        | Event::ApprovalChanged { .. }
        | Event::SignInNeeded { .. }
        | Event::SignInChanged { .. }
        | Event::ClientConnected { .. }
        | Event::ClientGone { .. }
        | Event::ClientToolList { .. }
        | Event::LogLine { .. }
        | Event::ProfilesChanged
        | Event::ModelsChanged
        | Event::ConversationChanged { .. }
        | Event::ConversationDelta { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::ClientAccess;
    use gatehouse_model::profile::ToolListCost;

    use super::*;

    #[test]
    fn counts_clients_as_connected_for_hours() {
        let now = Timestamp(1_000_000_000);
        let seen = |hours: i64| Some(Timestamp(now.0 - hours * 3_600_000));
        for (sessions, last_seen, expected) in [
            (0, None, false),
            (1, None, true),
            (1, seen(100), true),
            (0, seen(0), true),
            (0, seen(12), true),
            (0, seen(13), false),
        ] {
            let client = ClientView {
                id: "c".into(),
                name: String::new(),
                created: Timestamp(0),
                access: ClientAccess::Token,
                says: None,
                last_seen,
                sessions,
                has_stale_list: false,
                profile: None,
                tool_list: ToolListCost::default(),
            };
            assert_eq!(is_connected(&client, now), expected, "{sessions} {last_seen:?}");
        }
    }
}
