//! The transition for each pair of input and phase. All phases are matched explicitly, so that a
//! new phase or input doesn't compile until it is handled everywhere.

use std::time::Duration;

use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{StatusCause, Timestamp};

use super::{Edit, Effect, Epoch, Failure, Input, Moment, Phase, Pulse, State};
use crate::retry::{RETRIES, wait_after, worth_retrying};

/// A connection that ends by itself sooner than this counts as flapping, which slows down its
/// reconnects.
const SHORT_LIFE: Duration = Duration::from_secs(10);

/// A server that loses its session again within this time fails.
const SESSION_LASTS: Duration = Duration::from_secs(60);

/// A transition in progress.
pub(super) struct Step {
    pub(super) state: State,
    pub(super) moment: Moment,
    pub(super) effects: Vec<Effect>,
}

impl Step {
    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Switched { on, start } => self.switched(on, start),
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
            Input::SessionLost { epoch } => self.session_lost(epoch),
            Input::Pulse { epoch, pulse } => self.pulse(epoch, pulse),
            Input::Challenged { epoch, issuer } => self.challenged(epoch, issuer),
            Input::Unregistered { reason } => self.unregistered(reason),
            Input::Shutdown => self.shutdown(),
        }
    }

    fn switched(&mut self, on: bool, start: bool) {
        self.state.on = on;
        match self.state.phase {
            Phase::Stopped if on && start && !self.state.held => self.open_row(StatusCause::User),
            Phase::Stopped if !on => self.effects.push(Effect::Settle),
            Phase::Disabled | Phase::Stopped => {}
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                if !on {
                    self.leave();
                    self.rest(Phase::Stopped, StatusCause::User);
                }
            }
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
            Phase::Disabled => {}
            Phase::Stopped => self.state.held = true,
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.state.held = true;
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
        self.state.held = false;
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

    /// A call causes one attempt but no series of retries: a failed server is tried once. A server
    /// that the user stopped is not tried.
    fn wanted(&mut self) {
        match self.state.phase {
            Phase::Stopped if self.state.held => self.effects.push(Effect::Settle),
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

    /// After a lost session, reconnects once, immediately. If the next session is lost too soon,
    /// the server fails, because reconnecting would loop (SRV-6).
    fn session_lost(&mut self, epoch: Epoch) {
        match self.state.phase {
            Phase::Connected { .. } if epoch == self.state.epoch => {
                let now = self.moment.now;
                let before = self.state.session_lost.replace(now);
                if before.is_some_and(|before| before.plus(SESSION_LASTS) > now) {
                    self.leave();
                    let message =
                        "The server lost its session again right after it was opened anew. Restart the \
                                   server, then reconnect."
                            .to_owned();
                    let kind = FailureKind::Protocol;
                    self.fail(Fall { kind, message, attempts: 1, again: false }, StatusCause::SessionLost);
                } else {
                    self.open(1, StatusCause::SessionLost);
                }
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

    fn unregistered(&mut self, reason: String) {
        match self.state.phase {
            Phase::NeedsAuth { .. } | Phase::NeedsClientRegistration { .. } => {
                self.rest(Phase::NeedsClientRegistration { reason }, StatusCause::User);
            }
            Phase::Connected { .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::Connecting { .. }
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

    /// Begins a series of attempts with the first.
    fn open_row(&mut self, cause: StatusCause) {
        self.state.held = false;
        self.state.flaps = 0;
        self.state.session_lost = None;
        self.open(1, cause);
    }

    fn open(&mut self, attempt: u32, cause: StatusCause) {
        if !self.state.on {
            // While MCP is off, no attempt begins; the server is at most stopped.
            match self.state.phase {
                Phase::Stopped => self.effects.push(Effect::Settle),
                Phase::Disabled
                | Phase::Connecting { .. }
                | Phase::Connected { .. }
                | Phase::NeedsAuth { .. }
                | Phase::NeedsClientRegistration { .. }
                | Phase::Failed { .. } => {
                    self.leave();
                    self.rest(Phase::Stopped, cause);
                }
            }
            return;
        }
        self.leave();
        self.state.epoch = Epoch(self.state.epoch.0.saturating_add(1));
        self.state.phase = Phase::Connecting { attempt };
        self.effects.extend([Effect::Announce(cause), Effect::Open(self.state.epoch)]);
    }

    /// Gives up the attempt, connection or planned retry of the current phase.
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

    /// Enters a phase in which nothing is in progress.
    fn rest(&mut self, phase: Phase, cause: StatusCause) {
        self.state.phase = phase;
        self.effects.extend([Effect::Announce(cause), Effect::Settle]);
    }

    /// A connection broke: the first failure of a new series.
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

/// Parameters of a change to [`Phase::Failed`].
struct Fall {
    kind: FailureKind,
    message: String,
    attempts: u32,
    again: bool,
}
