//! Receives every event of the core and forwards it to the main page, the prompt window and the tray.
//! Events are hints: the state itself is always read from the core.

use std::time::Duration;

use gatehouse_app::{EventStream, Heard};
use gatehouse_model::command::{ApprovalsList, Status};
use gatehouse_model::{Envelope, Event};
use tauri::{AppHandle, Manager};
use tokio::time::Instant;

use crate::host::{Begun, Host};
use crate::pages::MainPage;
use crate::prompt::Prompt;
use crate::prompt::policy::Input;
use crate::tray::{Tray, View};

/// Debounce of the tray: how long it waits for more events before it reads the state.
const SETTLE: Duration = Duration::from_millis(150);

/// Receivers of the events.
struct Pump {
    host: Host,
    page: MainPage,
    prompt: Prompt,
    tray: Tray,
    /// When the tray reads the state again.
    look_at: Option<Instant>,
}

/// Reacts to a start of the core. The page has to read again: its data is from another core, or from
/// none.
pub(crate) fn follow(app: &AppHandle, begun: Begun) {
    match begun {
        Begun::Running(events) => start(app, events),
        Begun::Locked => app.state::<Tray>().view(View::Locked),
        Begun::Failed => app.state::<Tray>().view(View::NotRunning),
    }
    app.state::<MainPage>().event(None);
}

/// Starts forwarding; it ends with the core or the host.
fn start(app: &AppHandle, events: EventStream) {
    let host = app.state::<Host>().inner().clone();
    let pump = Pump {
        host: host.clone(),
        page: app.state::<MainPage>().inner().clone(),
        prompt: app.state::<Prompt>().inner().clone(),
        tray: app.state::<Tray>().inner().clone(),
        look_at: Some(Instant::now()),
    };
    host.spawn(pump.run(events));
}

impl Pump {
    async fn run(mut self, mut events: EventStream) {
        self.read_questions().await;
        loop {
            let heard = match self.look_at {
                None => events.next().await,
                Some(at) => match tokio::time::timeout_at(at, events.next()).await {
                    Ok(heard) => heard,
                    Err(_) => {
                        self.look_at = None;
                        self.look().await;
                        continue;
                    }
                },
            };
            match heard {
                None => return,
                Some(Heard::Event(envelope)) => self.pass(&envelope),
                Some(Heard::Missed) => {
                    self.page.event(None);
                    self.look_soon();
                    self.read_questions().await;
                }
            }
        }
    }

    fn pass(&mut self, envelope: &Envelope) {
        self.page.event(Some(envelope));
        if let Some(input) = for_prompt(&envelope.event) {
            self.prompt.input(input);
        }
        if is_for_tray(&envelope.event) {
            self.look_soon();
        }
    }

    fn look_soon(&mut self) {
        self.look_at.get_or_insert_with(|| Instant::now() + SETTLE);
    }

    async fn look(&self) {
        match self.host.run(&Status {}).await {
            Ok(report) => self.tray.view(View::from(&report)),
            Err(problem) => tracing::warn!(%problem, "the tray could not read the state"),
        }
    }

    async fn read_questions(&self) {
        match self.host.run(&ApprovalsList { known: Vec::new() }).await {
            Ok(all) => self.prompt.input(Input::All(all.into_iter().map(|pending| pending.id).collect())),
            Err(problem) => tracing::warn!(%problem, "the questions could not be read"),
        }
    }
}

/// What an event means for the prompt window.
fn for_prompt(event: &Event) -> Option<Input> {
    match event {
        Event::ApprovalRequested { pending } => Some(Input::Asked(pending.id.clone())),
        Event::ApprovalChanged { .. } => Some(Input::Changed),
        Event::ApprovalResolved { ask, .. } | Event::ApprovalExpired { ask } => {
            Some(Input::Ended(ask.clone()))
        }
        _ => None,
    }
}

/// Whether an event changes what the tray shows.
fn is_for_tray(event: &Event) -> bool {
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
        | Event::RightsChanged { .. } => true,
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
