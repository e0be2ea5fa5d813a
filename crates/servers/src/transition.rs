//! The life of one server as a pure function: a state and an input give the next state and what has
//! to be done. It never waits, never reads a clock and never touches a connection; the actor does
//! what it says and nothing else.

use std::time::Duration;

use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{ServerStatus, StatusCause, Timestamp};

use self::step::Step;
use crate::retry::Jitter;

mod step;
#[cfg(test)]
mod tests;

/// Number of an attempt to connect and of the connection that came of it. Rises with each attempt of
/// a server; whatever an older one still has to say is not listened to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Epoch(pub(crate) u64);

/// All that decides what happens next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The newest attempt.
    pub(crate) epoch: Epoch,
    /// Connections in a row that ended by themselves after a short life.
    pub(crate) flaps: u32,
    /// Whether MCP is on; while it is off nothing is begun.
    pub(crate) on: bool,
    /// Whether somebody stopped it: then only a start begins anything, and no call does.
    pub(crate) held: bool,
    /// When the server last lost its session.
    pub(crate) session_lost: Option<Timestamp>,
    /// Where the server stands.
    pub(crate) phase: Phase,
}

/// Where a server stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Switched off.
    Disabled,
    /// Enabled, not running.
    Stopped,
    /// An attempt is under way.
    Connecting {
        /// 1 for the first of a row.
        attempt: u32,
    },
    /// There is a connection that has answered.
    Connected {
        /// Since when.
        since: Timestamp,
        /// Negotiated revision.
        protocol: String,
        /// How the server names itself.
        server: ServerInfo,
        /// Health checks in a row that were not answered.
        missed: u32,
    },
    /// The user has to sign in.
    NeedsAuth {
        /// Authorization server, where known.
        issuer: Option<String>,
    },
    /// The user has to enter a client id.
    NeedsClientRegistration {
        /// Why.
        reason: String,
    },
    /// Not running because of an error.
    Failed {
        /// What kind.
        error: FailureKind,
        /// In plain words.
        message: String,
        /// Attempts so far in this row.
        attempts: u32,
        /// When the next one comes, if one does.
        next_retry: Option<Timestamp>,
    },
}

impl State {
    /// How a server begins.
    pub(crate) fn new(enabled: bool) -> Self {
        let phase = if enabled { Phase::Stopped } else { Phase::Disabled };
        Self { epoch: Epoch::default(), flaps: 0, on: true, held: false, session_lost: None, phase }
    }

    /// What everybody sees of it.
    pub(crate) fn status(&self) -> ServerStatus {
        match &self.phase {
            Phase::Disabled => ServerStatus::Disabled,
            Phase::Stopped => ServerStatus::Stopped,
            Phase::Connecting { attempt } => ServerStatus::Connecting { attempt: *attempt },
            Phase::Connected { since, protocol, server, missed: _ } => {
                ServerStatus::Connected { since: *since, protocol: protocol.clone(), server: server.clone() }
            }
            Phase::NeedsAuth { issuer } => ServerStatus::NeedsAuth { issuer: issuer.clone() },
            Phase::NeedsClientRegistration { reason } => {
                ServerStatus::NeedsClientRegistration { reason: reason.clone() }
            }
            Phase::Failed { error, message, attempts, next_retry } => ServerStatus::Failed {
                error: *error,
                message: message.clone(),
                attempts: *attempts,
                next_retry: *next_retry,
            },
        }
    }
}

/// Why an attempt to connect, or a connection, came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The server wants the user to sign in.
    #[error("the server wants you to sign in")]
    NeedsAuth {
        /// Authorization server, where known.
        issuer: Option<String>,
    },
    /// There is no way to register with the authorization server.
    #[error("the server needs a client id: {reason}")]
    NeedsClientRegistration {
        /// Why.
        reason: String,
    },
    /// Anything else.
    #[error("{message}")]
    Error {
        /// What kind.
        kind: FailureKind,
        /// In plain words.
        message: String,
    },
}

/// How an edit bears on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Not at all.
    Cosmetic,
    /// The connection is another one.
    Another,
    /// It was switched off.
    SwitchedOff,
    /// It was switched on.
    SwitchedOn {
        /// Whether it starts by itself.
        start: bool,
    },
}

/// What a health check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulse {
    /// Any answer at all.
    Answered,
    /// Nothing, while a call inside its limit keeps the server busy.
    Busy,
    /// Nothing.
    Missed {
        /// Misses in a row after which the connection is given up.
        allowed: u32,
    },
}

/// What can happen to a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// MCP as a whole was switched on or off.
    Switched {
        /// Whether it is on now.
        on: bool,
        /// Whether the server starts by itself then.
        start: bool,
    },
    /// Somebody wants it to run: the launch or the user.
    Start {
        /// Who.
        cause: StatusCause,
    },
    /// The user wants it to stop.
    Stop,
    /// The user wants a new connection.
    Reconnect,
    /// Its entry was edited.
    Edited(Edit),
    /// A call needs it.
    Wanted,
    /// The wait before the next attempt is over.
    RetryDue,
    /// An attempt succeeded.
    Ready {
        /// Which.
        epoch: Epoch,
        /// Negotiated revision.
        protocol: String,
        /// How the server names itself.
        server: ServerInfo,
    },
    /// An attempt failed.
    AttemptFailed {
        /// Which.
        epoch: Epoch,
        /// Why.
        failure: Failure,
    },
    /// A connection ended by itself.
    Closed {
        /// Which.
        epoch: Epoch,
        /// What kind of end it is.
        kind: FailureKind,
        /// Exit code or signal and the last words.
        reason: String,
    },
    /// The server no longer knows the session of a connection.
    SessionLost {
        /// Which.
        epoch: Epoch,
    },
    /// A health check ended.
    Pulse {
        /// Of which connection.
        epoch: Epoch,
        /// What it found.
        pulse: Pulse,
    },
    /// The server asked for authorization in the midst of a connection.
    Challenged {
        /// Which.
        epoch: Epoch,
        /// Authorization server, where known.
        issuer: Option<String>,
    },
    /// A sign-in that the user began found no way to register.
    Unregistered {
        /// Why.
        reason: String,
    },
    /// Gatehouse shuts down, or the server is removed.
    Shutdown,
}

/// What has to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Mark the entry as enabled.
    Enable,
    /// End this attempt or connection, whatever it has come to.
    Retire(Epoch),
    /// Forget a planned retry.
    ForgetRetry,
    /// Make the status known, with its cause.
    Announce(StatusCause),
    /// Begin an attempt.
    Open(Epoch),
    /// Come back with [`Input::RetryDue`] after this time.
    RetryAfter(Duration),
    /// Tell the calls that wait for this attempt how it ended.
    Settle,
}

/// The outside facts that a step depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The present.
    pub(crate) now: Timestamp,
    /// Spread of a retry.
    pub(crate) jitter: Jitter,
}

/// What follows from an input.
pub(crate) fn transition(state: State, input: Input, moment: Moment) -> (State, Vec<Effect>) {
    let mut step = Step { state, moment, effects: Vec::new() };
    step.take(input);
    (step.state, step.effects)
}
