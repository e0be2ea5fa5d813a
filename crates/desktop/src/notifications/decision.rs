//! Who is told what by a system notification, and when, as a pure state machine: inputs and the time go in, effects
//! come out. Invariants: nothing is told twice unless it changed in between, and however much happens, there is one
//! notification for the approvals and one for each of a few servers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use gatehouse_model::{ApprovalId, ServerId, ServerStatus};

use super::display::NotificationTag;
use super::words::ServerTrouble;
use crate::prompt::PromptSight;
use crate::request_words::RequestWords;

/// How long the prompt has to come up, and further requests to come in, before the user is told.
const LOOK_DELAY: Duration = Duration::from_secs(1);

/// How long a request may stay unanswered in a prompt that should be visible: the screen may be locked, or the user
/// somewhere else.
const UNANSWERED: Duration = Duration::from_secs(20);

/// Least time between two notifications of the same kind.
const LEAST_GAP: Duration = Duration::from_secs(10);

/// With more servers than this at a time, one notification stands for all of them.
const FEW_SERVERS: usize = 3;

/// A pending approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingRequest {
    pub(crate) id: ApprovalId,
    pub(crate) words: RequestWords,
}

/// Input of the state machine.
#[derive(Clone, Debug)]
pub(crate) enum NotificationInput {
    /// A new approval request.
    Requested(WaitingRequest),
    /// An approval request ended, answered or not.
    Ended(ApprovalId),
    /// Snapshot: exactly these are pending.
    Snapshot(Vec<WaitingRequest>),
    /// A server has this status.
    Status(ServerId, ServerStatus),
    /// A server was removed.
    ServerGone(ServerId),
    /// What the user can see, asked for when [`Notifications::next_wakeup`] had passed.
    Looked { prompt: PromptSight, is_main_focused: bool },
    /// The user wants notifications, or does not.
    Enabled(bool),
}

/// Output of the state machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotificationEffect {
    /// So many approvals are pending; `latest` is the newest of them.
    TellApprovals { count: u32, latest: RequestWords },
    /// A server needs the user.
    TellServer { server: ServerId, trouble: ServerTrouble },
    /// Several servers need the user.
    TellServers { count: u32 },
    /// Take a notification back.
    Close(NotificationTag),
    /// The number of pending approvals.
    Badge(u32),
}

/// A pending approval, and since when.
#[derive(Debug)]
struct Waiting {
    words: RequestWords,
    since: Instant,
    is_notified: bool,
}

/// What the user was notified of, and what not yet.
#[derive(Debug)]
pub(crate) struct Notifications {
    enabled: bool,
    pending: BTreeMap<ApprovalId, Waiting>,
    /// The newest request.
    latest: Option<ApprovalId>,
    /// Servers that need the user, and whether the user was notified.
    troubles: BTreeMap<ServerId, (ServerTrouble, bool)>,
    shown: BTreeSet<NotificationTag>,
    look_at: Option<Instant>,
    approvals_notified: Option<Instant>,
    servers_notified: Option<Instant>,
}

impl Notifications {
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            pending: BTreeMap::new(),
            latest: None,
            troubles: BTreeMap::new(),
            shown: BTreeSet::new(),
            look_at: None,
            approvals_notified: None,
            servers_notified: None,
        }
    }

    /// When a [`NotificationInput::Looked`] is needed next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.look_at
    }

    /// Processes an input.
    pub(crate) fn transition(&mut self, input: NotificationInput, now: Instant) -> Vec<NotificationEffect> {
        let before = self.pending.len();
        let mut effects = match input {
            NotificationInput::Requested(request) => {
                self.add(request, now);
                Vec::new()
            }
            NotificationInput::Ended(id) => {
                self.pending.remove(&id);
                Vec::new()
            }
            NotificationInput::Snapshot(all) => {
                self.pending.retain(|id, _| all.iter().any(|request| request.id == *id));
                for request in all {
                    self.add(request, now);
                }
                Vec::new()
            }
            NotificationInput::Status(server, status) => self.set_status(server, &status, now),
            NotificationInput::ServerGone(server) => self.clear_server(&server),
            NotificationInput::Looked { prompt, is_main_focused } => {
                self.look_at = None;
                let mut effects = self.tell_approvals(prompt, is_main_focused, now);
                effects.extend(self.tell_servers(is_main_focused, now));
                effects
            }
            NotificationInput::Enabled(enabled) => {
                self.enabled = enabled;
                if enabled { Vec::new() } else { self.close(|_| true) }
            }
        };
        if self.pending.is_empty() {
            effects.extend(self.close(|tag| *tag == NotificationTag::Approvals));
        }
        if self.pending.len() != before {
            effects.push(NotificationEffect::Badge(count(self.pending.len())));
        }
        effects
    }

    fn add(&mut self, WaitingRequest { id, words }: WaitingRequest, now: Instant) {
        if self.pending.contains_key(&id) {
            return;
        }
        self.pending.insert(id.clone(), Waiting { words, since: now, is_notified: false });
        self.latest = Some(id);
        self.look_by(now + LOOK_DELAY);
    }

    fn look_by(&mut self, at: Instant) {
        self.look_at = Some(self.look_at.map_or(at, |before| before.min(at)));
    }

    fn set_status(
        &mut self,
        server: ServerId,
        status: &ServerStatus,
        now: Instant,
    ) -> Vec<NotificationEffect> {
        let trouble = match status {
            ServerStatus::NeedsAuth { .. } => ServerTrouble::SignIn,
            ServerStatus::NeedsClientRegistration { .. } => ServerTrouble::ClientId,
            ServerStatus::Failed { next_retry: None, .. } => ServerTrouble::Failed,
            // A transitional state neither notifies nor closes a notification.
            ServerStatus::Connecting { .. } | ServerStatus::Failed { next_retry: Some(_), .. } => {
                return Vec::new();
            }
            ServerStatus::Disabled | ServerStatus::Stopped | ServerStatus::Connected { .. } => {
                return self.clear_server(&server);
            }
        };
        if self.troubles.get(&server).is_some_and(|(known, _)| *known == trouble) {
            return Vec::new();
        }
        self.troubles.insert(server, (trouble, false));
        self.look_by(now + LOOK_DELAY);
        Vec::new()
    }

    fn clear_server(&mut self, server: &ServerId) -> Vec<NotificationEffect> {
        self.troubles.remove(server);
        let none_left = self.troubles.is_empty();
        self.close(|tag| match tag {
            NotificationTag::Server(shown) => shown == server,
            NotificationTag::Servers => none_left,
            NotificationTag::Approvals => false,
        })
    }

    fn close(&mut self, which: impl Fn(&NotificationTag) -> bool) -> Vec<NotificationEffect> {
        let gone: Vec<NotificationTag> = self.shown.iter().filter(|tag| which(tag)).cloned().collect();
        for tag in &gone {
            self.shown.remove(tag);
        }
        gone.into_iter().map(NotificationEffect::Close).collect()
    }

    fn tell_approvals(
        &mut self,
        prompt: PromptSight,
        is_main_focused: bool,
        now: Instant,
    ) -> Vec<NotificationEffect> {
        let Some(oldest) = self.pending.values().filter(|one| !one.is_notified).map(|one| one.since).min()
        else {
            return Vec::new();
        };
        // The window with the focus shows the approvals too, and the prompt is above it.
        if (prompt == PromptSight::Visible || is_main_focused) && now < oldest + UNANSWERED {
            self.look_by(oldest + UNANSWERED);
            return Vec::new();
        }
        if let Some(last) = self.approvals_notified.filter(|last| now < *last + LEAST_GAP) {
            self.look_by(last + LEAST_GAP);
            return Vec::new();
        }
        for waiting in self.pending.values_mut() {
            waiting.is_notified = true;
        }
        let latest = self.latest.as_ref().and_then(|id| self.pending.get(id));
        let Some(latest) = latest.or_else(|| self.pending.values().next_back()) else { return Vec::new() };
        if !self.enabled {
            return Vec::new();
        }
        let latest = latest.words.clone();
        self.approvals_notified = Some(now);
        self.shown.insert(NotificationTag::Approvals);
        vec![NotificationEffect::TellApprovals { count: count(self.pending.len()), latest }]
    }

    fn tell_servers(&mut self, is_main_focused: bool, now: Instant) -> Vec<NotificationEffect> {
        let new: Vec<(ServerId, ServerTrouble)> = self
            .troubles
            .iter()
            .filter(|(_, (_, is_notified))| !is_notified)
            .map(|(server, (trouble, _))| (server.clone(), *trouble))
            .collect();
        if new.is_empty() {
            return Vec::new();
        }
        if let Some(last) = self.servers_notified.filter(|last| now < *last + LEAST_GAP) {
            self.look_by(last + LEAST_GAP);
            return Vec::new();
        }
        for (_, is_notified) in self.troubles.values_mut() {
            *is_notified = true;
        }
        // The window with the focus says it.
        if !self.enabled || is_main_focused {
            return Vec::new();
        }
        self.servers_notified = Some(now);
        if new.len() > FEW_SERVERS || self.shown.contains(&NotificationTag::Servers) {
            let mut effects = self.close(|tag| matches!(tag, NotificationTag::Server(_)));
            self.shown.insert(NotificationTag::Servers);
            effects.push(NotificationEffect::TellServers { count: count(self.troubles.len()) });
            return effects;
        }
        self.shown.extend(new.iter().map(|(server, _)| NotificationTag::Server(server.clone())));
        new.into_iter().map(|(server, trouble)| NotificationEffect::TellServer { server, trouble }).collect()
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
