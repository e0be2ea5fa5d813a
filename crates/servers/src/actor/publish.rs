//! Publishes an actor's status, lists and log. State is stored before the event is emitted, so that
//! a subscriber who reads the state upon an event always finds the new state.

use std::sync::{Arc, OnceLock};

use gatehouse_mcp_client::lists::{Declared, ListKind, ServerLists};
use gatehouse_mcp_client::{Inbound, NotificationKind};
use gatehouse_model::server::{LogLine, LogSource};
use gatehouse_model::{Event, ServerStatus, StatusCause};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::ServerActor;
use crate::shared::{EstablishedConnection, InitialLists, LiveConnection, UnreadList};

impl ServerActor {
    /// Publishes the status: first the state for readers, then the events.
    pub(super) fn publish_status(&mut self, cause: StatusCause) {
        let changes = if self.connected() { self.adopt_connection() } else { Vec::new() };
        if matches!(
            cause,
            StatusCause::AttemptFailed | StatusCause::UnexpectedClose { .. } | StatusCause::Unresponsive
        ) {
            self.shared.errors.lock().add(self.deps.clock.now());
        }
        let status = self.state.status();
        let server = self.shared.id.clone();
        self.shared.status.store(Arc::new(status.clone()));
        self.deps.registry.changed();
        let name = &self.shared.config.load().name;
        tracing::info!(server = %server, name, status = status.as_str(), "status changed");
        let sign_in = match &status {
            ServerStatus::NeedsAuth { issuer } => {
                Some(Event::SignInNeeded { server: server.clone(), issuer: issuer.clone() })
            }
            ServerStatus::Disabled
            | ServerStatus::Stopped
            | ServerStatus::Connecting { .. }
            | ServerStatus::Connected { .. }
            | ServerStatus::NeedsClientRegistration { .. }
            | ServerStatus::Failed { .. } => None,
        };
        self.deps.registry.emit(Event::StatusChanged { server: server.clone(), status, cause });
        self.deps.registry.set_running(&server, self.connected());
        for event in changes.into_iter().chain(sign_in) {
            self.deps.registry.emit(event);
        }
    }

    /// Publishes a newly established connection and its lists. Returns events for the lists that
    /// changed.
    fn adopt_connection(&mut self) -> Vec<Event> {
        let Some(opened) = self.pending_connection.take() else { return Vec::new() };
        let EstablishedConnection { epoch, config, connection, second, first } = *opened;
        let InitialLists { mut lists, unread, fresh, remarks } = first;
        self.lifecycle = connection.handshake().lifecycle;
        let before = self.shared.lists.load_full();
        for UnreadList { kind, again } in unread {
            // Calls are judged by these lists. What was known before, such as in an earlier run, may be an old copy.
            if self.has_own_lists {
                kind.carry_over(&before, &mut lists);
            }
            if again {
                self.refresh.mark_later(kind, Instant::now());
            }
        }
        self.has_own_lists = true;
        let changes = self.changes(&before, &lists);
        let declared = Declared::read(&lists.capabilities);
        let ended = self.connection_attempt.clone().unwrap_or_default();
        self.shared.lists.store(Arc::new(lists));
        let live = LiveConnection {
            epoch,
            generation: config.generation,
            declared,
            connection,
            second,
            ended,
            break_reason: OnceLock::new(),
        };
        self.shared.redactor.store(Arc::new(live.connection.redactor()));
        self.shared.live.store(Some(Arc::new(live)));
        self.schedule_health_check();
        for (kind, fresh_for) in fresh {
            self.schedule_refresh(kind, fresh_for);
        }
        self.restore_settings();
        for remark in remarks {
            self.log_remark(remark);
        }
        changes
    }

    pub(super) fn changes(&self, before: &ServerLists, after: &ServerLists) -> Vec<Event> {
        let server = || self.shared.id.clone();
        let another = before.generation != after.generation;
        let mut events = Vec::new();
        if another || !same_tools(before, after) {
            events.push(Event::ToolsChanged { server: server() });
        }
        if another
            || !same_items(&before.resources, &after.resources)
            || !same_items(&before.resource_templates, &after.resource_templates)
        {
            events.push(Event::ResourcesChanged { server: server(), uri: None });
        }
        if another || !same_items(&before.prompts, &after.prompts) {
            events.push(Event::PromptsChanged { server: server() });
        }
        events
    }

    pub(super) fn handle_inbound(&mut self, inbound: Inbound) {
        let now = Instant::now();
        match inbound {
            Inbound::ToolsChanged => self.refresh.mark(ListKind::Tools, now),
            Inbound::PromptsChanged => self.refresh.mark(ListKind::Prompts, now),
            Inbound::ResourcesChanged => {
                self.refresh.mark(ListKind::Resources, now);
                self.refresh.mark(ListKind::ResourceTemplates, now);
            }
            Inbound::Forwarded(notification) => {
                if let NotificationKind::ResourceUpdated { uri } = &notification.kind {
                    let (server, uri) = (self.shared.id.clone(), Some(uri.clone()));
                    self.deps.registry.emit(Event::ResourcesChanged { server, uri });
                }
                self.deps.registry.notify(&self.shared.id, notification);
            }
            Inbound::Log { line } | Inbound::Stderr(line) => self.log(line),
        }
    }

    /// Logs the lines that a connection has already sent, before it is given up; its other messages
    /// are dropped.
    pub(super) fn drain_lines(&mut self) {
        let Some(mut inbound) = self.inbound.take() else { return };
        while let Ok(said) = inbound.try_recv() {
            match said {
                Inbound::Log { line } | Inbound::Stderr(line) => self.log(line),
                Inbound::ToolsChanged
                | Inbound::PromptsChanged
                | Inbound::ResourcesChanged
                | Inbound::Forwarded(_) => {}
            }
        }
        self.inbound = Some(inbound);
    }

    fn log(&self, line: LogLine) {
        self.shared.push_log_line(line.clone());
        self.deps.registry.emit(Event::LogLine { server: self.shared.id.clone(), line });
    }

    /// Writes a line of Gatehouse's own into the server's log.
    pub(super) fn log_remark(&self, text: String) {
        let text = self.shared.redactor.load().text(text);
        let name = &self.shared.config.load().name;
        tracing::info!(server = %self.shared.id, name, "{text}");
        self.log(LogLine { at: self.deps.clock.now(), source: LogSource::Gatehouse, level: None, text });
    }
}

fn same_items(before: &[Box<RawValue>], after: &[Box<RawValue>]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(before, after)| before.get() == after.get())
}

fn same_tools(before: &ServerLists, after: &ServerLists) -> bool {
    before.tools.len() == after.tools.len()
        && before.tools.iter().zip(&after.tools).all(|(before, after)| before.raw.get() == after.raw.get())
}
