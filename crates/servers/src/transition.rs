//! The life of one server as a pure function: a state and an input give the next state and what has
//! to be done. It never waits, never reads a clock and never touches a connection; the actor does
//! what it says and nothing else.

use std::time::Duration;

use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{ServerStatus, StatusCause, Timestamp};

use crate::retry::{Jitter, RETRIES, wait_after, worth_retrying};

/// Number of an attempt to connect and of the connection that came of it. Rises with each attempt of
/// a server; whatever an older one still has to say is not listened to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Epoch(pub(crate) u64);

/// A connection that ends by itself sooner than this counts as flapping: its reconnects slow down.
const SHORT_LIFE: Duration = Duration::from_secs(10);

/// All that decides what happens next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The newest attempt.
    pub(crate) epoch: Epoch,
    /// Connections in a row that ended by themselves after a short life.
    pub(crate) flaps: u32,
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
        Self { epoch: Epoch::default(), flaps: 0, phase }
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
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "found out while signing in, which connections do not do yet")
    )]
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

struct Step {
    state: State,
    moment: Moment,
    effects: Vec<Effect>,
}

impl Step {
    fn take(&mut self, input: Input) {
        match input {
            Input::Start { cause } => self.start(cause),
            Input::Stop => self.stop(),
            Input::Reconnect => self.reconnect(),
            Input::Edited(Edit::Cosmetic) => {}
            Input::Edited(Edit::Another) => self.another(),
            Input::Edited(Edit::SwitchedOff) => self.switched_off(),
            Input::Edited(Edit::SwitchedOn { start }) => self.switched_on(start),
            Input::Wanted => self.wanted(),
            Input::RetryDue => self.retry_due(),
            Input::Ready { epoch, protocol, server } => self.ready(epoch, protocol, server),
            Input::AttemptFailed { epoch, failure } => self.attempt_failed(epoch, failure),
            Input::Closed { epoch, kind, reason } => self.closed(epoch, kind, reason),
            Input::Pulse { epoch, pulse } => self.pulse(epoch, pulse),
            Input::Challenged { epoch, issuer } => self.challenged(epoch, issuer),
            Input::Shutdown => self.shutdown(),
        }
    }

    fn start(&mut self, cause: StatusCause) {
        match self.state.phase {
            Phase::Disabled => {
                self.effects.push(Effect::Enable);
                self.open_row(cause);
            }
            Phase::Stopped
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => self.open_row(cause),
            Phase::Connecting { .. } | Phase::Connected { .. } => {}
        }
    }

    fn stop(&mut self) {
        match self.state.phase {
            Phase::Disabled | Phase::Stopped => {}
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.leave();
                self.rest(Phase::Stopped, StatusCause::User);
            }
        }
    }

    fn reconnect(&mut self) {
        match self.state.phase {
            Phase::Disabled => {}
            Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => self.open_row(StatusCause::User),
        }
    }

    fn another(&mut self) {
        match self.state.phase {
            Phase::Disabled | Phase::Stopped => {}
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => self.open_row(StatusCause::Edited),
        }
    }

    fn switched_off(&mut self) {
        match self.state.phase {
            Phase::Disabled => {}
            Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.leave();
                self.rest(Phase::Disabled, StatusCause::Edited);
            }
        }
    }

    fn switched_on(&mut self, start: bool) {
        match self.state.phase {
            Phase::Disabled if start => self.open_row(StatusCause::Edited),
            Phase::Disabled => self.rest(Phase::Stopped, StatusCause::Edited),
            Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    /// A call starts one attempt and no row of its own: a server that was given up is tried once.
    fn wanted(&mut self) {
        match self.state.phase {
            Phase::Stopped => self.open(1, StatusCause::Call),
            Phase::Failed { attempts, .. } => self.open(attempts.saturating_add(1), StatusCause::Call),
            Phase::Connecting { .. } => {}
            Phase::Disabled
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. } => self.effects.push(Effect::Settle),
        }
    }

    fn retry_due(&mut self) {
        match self.state.phase {
            Phase::Failed { attempts, next_retry: Some(_), .. } => {
                self.open(attempts.saturating_add(1), StatusCause::Retry);
            }
            Phase::Failed { next_retry: None, .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. } => {}
        }
    }

    fn ready(&mut self, epoch: Epoch, protocol: String, server: ServerInfo) {
        match self.state.phase {
            Phase::Connecting { .. } if epoch == self.state.epoch => {
                self.state.phase = Phase::Connected { since: self.moment.now, protocol, server, missed: 0 };
                self.effects.extend([Effect::Announce(StatusCause::Handshake), Effect::Settle]);
            }
            Phase::Connecting { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    fn attempt_failed(&mut self, epoch: Epoch, failure: Failure) {
        match self.state.phase {
            Phase::Connecting { attempt } if epoch == self.state.epoch => {
                self.effects.push(Effect::Retire(epoch));
                match failure {
                    Failure::NeedsAuth { issuer } => {
                        self.rest(Phase::NeedsAuth { issuer }, StatusCause::Challenge);
                    }
                    Failure::Error { kind: FailureKind::Authorization, message: _ } => {
                        self.rest(Phase::NeedsAuth { issuer: None }, StatusCause::Challenge);
                    }
                    Failure::NeedsClientRegistration { reason } => {
                        self.rest(Phase::NeedsClientRegistration { reason }, StatusCause::Challenge);
                    }
                    Failure::Error { kind, message } => {
                        let again = worth_retrying(kind) && attempt <= RETRIES;
                        self.fail(
                            Fall { kind, message, attempts: attempt, again },
                            StatusCause::AttemptFailed,
                        );
                    }
                }
            }
            Phase::Connecting { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    fn closed(&mut self, epoch: Epoch, kind: FailureKind, reason: String) {
        match self.state.phase {
            Phase::Connected { since, .. } if epoch == self.state.epoch => {
                let fall = Fall { kind, message: reason.clone(), attempts: 1, again: worth_retrying(kind) };
                self.lost(since, fall, StatusCause::UnexpectedClose { reason });
            }
            Phase::Connected { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    fn pulse(&mut self, epoch: Epoch, pulse: Pulse) {
        let current = epoch == self.state.epoch;
        match &mut self.state.phase {
            Phase::Connected { since, missed, .. } if current => match pulse {
                Pulse::Answered => *missed = 0,
                Pulse::Busy => {}
                Pulse::Missed { allowed } => {
                    *missed = missed.saturating_add(1);
                    if *missed >= allowed.max(1) {
                        let (since, missed) = (*since, *missed);
                        let message = match missed {
                            1 => "The server did not answer a health check.".to_owned(),
                            many => format!("The server did not answer {many} health checks in a row."),
                        };
                        let kind = FailureKind::TemporaryNetwork;
                        let fall = Fall { kind, message, attempts: 1, again: true };
                        self.lost(since, fall, StatusCause::Unresponsive);
                    }
                }
            },
            Phase::Connected { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    fn challenged(&mut self, epoch: Epoch, issuer: Option<String>) {
        match self.state.phase {
            Phase::Connected { .. } if epoch == self.state.epoch => {
                self.leave();
                self.rest(Phase::NeedsAuth { issuer }, StatusCause::Challenge);
            }
            Phase::Connected { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {}
        }
    }

    fn shutdown(&mut self) {
        match self.state.phase {
            Phase::Disabled | Phase::Stopped => self.effects.push(Effect::Settle),
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.leave();
                self.rest(Phase::Stopped, StatusCause::Shutdown);
            }
        }
    }

    /// Begins a row of attempts with the first.
    fn open_row(&mut self, cause: StatusCause) {
        self.state.flaps = 0;
        self.open(1, cause);
    }

    fn open(&mut self, attempt: u32, cause: StatusCause) {
        self.leave();
        self.state.epoch = Epoch(self.state.epoch.0.saturating_add(1));
        self.state.phase = Phase::Connecting { attempt };
        self.effects.extend([Effect::Announce(cause), Effect::Open(self.state.epoch)]);
    }

    /// Gives up whatever the present phase holds.
    fn leave(&mut self) {
        match self.state.phase {
            Phase::Connecting { .. } | Phase::Connected { .. } => {
                self.effects.push(Effect::Retire(self.state.epoch));
            }
            Phase::Failed { next_retry: Some(_), .. } => self.effects.push(Effect::ForgetRetry),
            Phase::Failed { next_retry: None, .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. } => {}
        }
    }

    /// Enters a phase in which nothing is under way.
    fn rest(&mut self, phase: Phase, cause: StatusCause) {
        self.state.phase = phase;
        self.effects.extend([Effect::Announce(cause), Effect::Settle]);
    }

    /// A connection is gone without anybody's wish: the first failure of a new row.
    fn lost(&mut self, since: Timestamp, fall: Fall, cause: StatusCause) {
        let short = since.plus(SHORT_LIFE) > self.moment.now;
        self.state.flaps = if short { self.state.flaps.saturating_add(1) } else { 0 };
        self.leave();
        self.fail(fall, cause);
    }

    fn fail(&mut self, fall: Fall, cause: StatusCause) {
        let wait = fall.again.then(|| wait_after(fall.attempts.max(self.state.flaps), self.moment.jitter));
        self.state.phase = Phase::Failed {
            error: fall.kind,
            message: fall.message,
            attempts: fall.attempts,
            next_retry: wait.map(|wait| self.moment.now.plus(wait)),
        };
        self.effects.push(Effect::Announce(cause));
        if let Some(wait) = wait {
            self.effects.push(Effect::RetryAfter(wait));
        }
        self.effects.push(Effect::Settle);
    }
}

/// One fall into [`Phase::Failed`].
struct Fall {
    kind: FailureKind,
    message: String,
    attempts: u32,
    again: bool,
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
