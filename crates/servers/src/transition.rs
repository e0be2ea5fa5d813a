//! The lifecycle of one server as a pure function: a state and an input yield the next state and a
//! list of effects. It never waits, never reads a clock and never touches a connection; the actor
//! executes the effects and nothing else.

use std::time::Duration;

use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{ServerStatus, StatusCause, Timestamp, UserText};

use self::step::TransitionStep;
use crate::retry::Jitter;

mod step;
#[cfg(test)]
mod tests;

/// Number of an attempt to connect and of the resulting connection. Increases with each attempt of
/// a server; inputs with an older epoch are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Epoch(pub(crate) u64);

/// The state of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerState {
    /// The newest attempt.
    pub(crate) epoch: Epoch,
    /// Number of connections in a row that broke after a short life.
    pub(crate) flaps: u32,
    /// Whether MCP is on; while it is off no attempt begins.
    pub(crate) on: bool,
    /// Whether the user stopped the server: then only an explicit start connects it again; a call
    /// doesn't.
    pub(crate) is_held: bool,
    /// When the server last lost its session.
    pub(crate) session_lost: Option<Timestamp>,
    pub(crate) phase: Phase,
}

/// Phase of a server's lifecycle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Disabled in the settings.
    Disabled,
    /// Enabled, not running.
    Stopped,
    /// An attempt to connect is under way.
    Connecting {
        /// 1 for the first attempt of a series.
        attempt: u32,
    },
    /// Connected: the server has answered a request after the handshake.
    Connected {
        since: Timestamp,
        /// Negotiated revision.
        protocol: String,
        /// How the server identifies itself.
        server: ServerInfo,
        /// Unanswered health checks in a row.
        missed: u32,
    },
    /// The user has to sign in.
    NeedsAuth {
        /// Authorization server, if known.
        issuer: Option<String>,
    },
    /// The user has to enter a client id.
    NeedsClientRegistration { reason: UserText },
    /// Not running because of an error.
    Failed {
        error: FailureKind,
        /// Message for the user.
        message: UserText,
        /// Attempts so far in this series.
        attempts: u32,
        /// When the next attempt begins, if one is planned.
        next_retry: Option<Timestamp>,
    },
}

impl ServerState {
    /// The initial state.
    pub(crate) fn new(enabled: bool) -> Self {
        let phase = if enabled { Phase::Stopped } else { Phase::Disabled };
        Self { epoch: Epoch::default(), flaps: 0, on: true, is_held: false, session_lost: None, phase }
    }

    /// The public status.
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

/// Why an attempt to connect failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConnectFailure {
    /// The server requires the user to sign in.
    #[error("the server wants you to sign in")]
    NeedsAuth {
        /// Authorization server, if known.
        issuer: Option<String>,
    },
    /// There is no way to register with the authorization server.
    #[error("the server needs a client id: {reason}")]
    NeedsClientRegistration { reason: UserText },
    /// Any other failure.
    #[error("{message}")]
    Error {
        kind: FailureKind,
        /// Message for the user.
        message: UserText,
    },
}

/// Effect of a change of the settings on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigEdit {
    /// None.
    Cosmetic,
    /// The transport, the generation or the revision of the protocol changed: reconnect.
    ConnectionChanged,
    /// The server was disabled.
    SwitchedOff,
    /// The server was enabled.
    SwitchedOn {
        /// Whether it has autostart.
        start: bool,
    },
}

/// Result of a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthReport {
    /// Any response.
    Answered,
    /// No response while a call within its time limit is in flight.
    Busy,
    /// No response.
    Missed {
        /// Misses in a row after which the connection is given up.
        allowed: u32,
    },
}

/// Events that a server's state machine processes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerInput {
    /// MCP as a whole was switched on or off.
    Switched {
        on: bool,
        /// Whether the server should start when MCP is switched on.
        start: bool,
    },
    /// The server should run: requested by the user or at launch.
    Start { cause: StatusCause },
    /// The user stops the server.
    Stop,
    /// The user requests a new connection.
    Reconnect,
    /// The settings were edited.
    Edited(ConfigEdit),
    /// A call needs a connection.
    Wanted,
    /// The wait before the next attempt is over.
    RetryDue,
    /// An attempt succeeded.
    Ready {
        epoch: Epoch,
        /// Negotiated revision.
        protocol: String,
        /// How the server identifies itself.
        server: ServerInfo,
    },
    /// An attempt failed.
    AttemptFailed { epoch: Epoch, failure: ConnectFailure },
    /// A connection ended without being closed by Gatehouse.
    Closed {
        epoch: Epoch,
        kind: FailureKind,
        /// Exit code or signal and the last lines of standard error.
        reason: UserText,
    },
    /// The session of a connection has expired on the server.
    SessionLost { epoch: Epoch },
    /// A health check ended.
    HealthReport { epoch: Epoch, health: HealthReport },
    /// The server sent an authorization challenge on an established connection.
    Challenged {
        epoch: Epoch,
        /// Authorization server, if known.
        issuer: Option<String>,
    },
    /// A sign-in that the user began found no way to register.
    Unregistered { reason: UserText },
    /// Gatehouse shuts down, or the server is removed.
    Shutdown,
}

/// Actions for the actor, to be executed in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerEffect {
    /// Set the server to enabled.
    Enable,
    /// End this attempt or connection, in whatever state it is.
    Retire(Epoch),
    /// Cancel a planned retry.
    ForgetRetry,
    /// Publish the status, with its cause.
    Announce(StatusCause),
    /// Begin an attempt.
    Open(Epoch),
    /// Send [`ServerInput::RetryDue`] after this time.
    RetryAfter(Duration),
    /// Answer the calls that wait for this attempt.
    Settle,
}

/// External values that a transition depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransitionContext {
    pub(crate) now: Timestamp,
    /// Spread of the wait before a retry.
    pub(crate) jitter: Jitter,
}

/// Processes one input. Returns the next state and the effects, in order.
pub(crate) fn transition(
    state: ServerState,
    input: ServerInput,
    context: TransitionContext,
) -> (ServerState, Vec<ServerEffect>) {
    let mut step = TransitionStep { state, context, effects: Vec::new() };
    step.take(input);
    (step.state, step.effects)
}
