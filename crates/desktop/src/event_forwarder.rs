//! Receives every event of the core and forwards it to the main page, the prompt window and the tray.
//! Events are hints: the state itself is always read from the core.

use std::time::Duration;

use gatehouse_app::{EventStream, StreamEvent};
use gatehouse_model::command::{ApprovalsList, Status};
use gatehouse_model::{Event, EventEnvelope};
use tokio::time::Instant;

use crate::host::{Host, StartOutcome};
use crate::main_page::MainPage;
use crate::prompt::{Prompt, PromptInput};
use crate::tray::{Tray, TrayView};

/// Debounce of the tray: how long it waits for more events before it reads the state.
const TRAY_REFRESH_DELAY: Duration = Duration::from_millis(150);

/// Receivers of the events, and the host that they come from.
#[derive(Clone)]
pub(crate) struct EventReceivers {
    pub(crate) host: Host,
    pub(crate) page: MainPage,
    pub(crate) prompt: Prompt,
    pub(crate) tray: Tray,
}

struct EventForwarder {
    to: EventReceivers,
    /// When the tray reads the state again.
    refresh_at: Option<Instant>,
}

/// Reacts to a start of the core. The page has to read again: its data is from another core, or from
/// none.
pub(crate) fn on_core_start(to: &EventReceivers, outcome: StartOutcome) {
    match outcome {
        StartOutcome::Running(events) => start(to, events),
        StartOutcome::Locked => to.tray.set_view(TrayView::Locked),
        StartOutcome::Failed => to.tray.set_view(TrayView::NotRunning),
    }
    to.page.send_event(None);
}

/// Starts forwarding; it ends with the core or the host.
fn start(to: &EventReceivers, events: EventStream) {
    let event_forwarder = EventForwarder { to: to.clone(), refresh_at: Some(Instant::now()) };
    to.host.spawn(event_forwarder.run(events));
}

impl EventForwarder {
    async fn run(mut self, mut events: EventStream) {
        self.read_pending().await;
        loop {
            let received = match self.refresh_at {
                None => events.next().await,
                Some(at) => match tokio::time::timeout_at(at, events.next()).await {
                    Ok(received) => received,
                    Err(_) => {
                        self.refresh_at = None;
                        self.refresh_tray().await;
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
                }
            }
        }
    }

    fn forward(&mut self, envelope: &EventEnvelope) {
        self.to.page.send_event(Some(envelope));
        if let Some(input) = prompt_input(&envelope.event) {
            self.to.prompt.input(input);
        }
        if is_tray_relevant(&envelope.event) {
            self.schedule_tray_refresh();
        }
    }

    fn schedule_tray_refresh(&mut self) {
        self.refresh_at.get_or_insert_with(|| Instant::now() + TRAY_REFRESH_DELAY);
    }

    async fn refresh_tray(&self) {
        match self.to.host.run(&Status {}).await {
            Ok(report) => self.to.tray.set_view(TrayView::from(&report)),
            Err(error) => tracing::warn!(%error, "the tray could not read the state"),
        }
    }

    async fn read_pending(&self) {
        match self.to.host.run(&ApprovalsList { known: Vec::new() }).await {
            Ok(all) => self
                .to
                .prompt
                .input(PromptInput::Snapshot(all.into_iter().map(|pending| pending.id).collect())),
            Err(error) => tracing::warn!(%error, "the pending approvals could not be read"),
        }
    }
}

/// What an event means for the prompt window.
fn prompt_input(event: &Event) -> Option<PromptInput> {
    match event {
        Event::ApprovalRequested { pending } => Some(PromptInput::Requested(pending.id.clone())),
        Event::ApprovalChanged { .. } => Some(PromptInput::Changed),
        Event::ApprovalResolved { approval, .. } | Event::ApprovalExpired { approval } => {
            Some(PromptInput::Ended(approval.clone()))
        }
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
        | Event::CallFinished { .. }
        | Event::ApprovalChanged { .. }
        | Event::SignInNeeded { .. }
        | Event::SignInChanged { .. }
        | Event::ClientConnected { .. }
        | Event::ClientGone { .. }
        | Event::LogLine { .. } => false,
    }
}
