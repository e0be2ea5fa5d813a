//! The transition for each pair of input and phase. Inputs that have a meaning in several phases match all
//! phases explicitly, so that a new phase doesn't compile until it is handled. Reports about an attempt or a
//! connection count only in the phase of that attempt or connection, and are ignored in every other.

use std::time::Duration;

use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{StatusCause, Timestamp, UserText, message};

use super::{
    ConfigEdit, ConnectFailure, Epoch, HealthReport, Phase, ServerEffect, ServerInput, ServerState,
    TransitionContext,
};
use crate::retry::{MAX_RETRIES, backoff_after, is_retryable};

/// A connection that ends by itself sooner than this counts as flapping, which slows down its
/// reconnects.
const SHORT_LIFE: Duration = Duration::from_secs(10);

/// A server that loses its session again within this time fails.
const SESSION_LASTS: Duration = Duration::from_secs(60);

/// A transition in progress.
pub(super) struct TransitionStep {
    pub(super) state: ServerState,
    pub(super) context: TransitionContext,
    pub(super) effects: Vec<ServerEffect>,
}

impl TransitionStep {
    pub(super) fn take(&mut self, input: ServerInput) {
        match input {
            ServerInput::Switched { on, start } => self.switched(on, start),
            ServerInput::Start { cause } => self.start(cause),
            ServerInput::Stop => self.stop(),
            ServerInput::Reconnect => self.reconnect(),
            ServerInput::Edited(ConfigEdit::Cosmetic) => {}
            ServerInput::Edited(ConfigEdit::ConnectionChanged) => self.connection_changed(),
            ServerInput::Edited(ConfigEdit::SwitchedOff) => self.switched_off(),
            ServerInput::Edited(ConfigEdit::SwitchedOn { start }) => self.switched_on(start),
            ServerInput::Wanted => self.wanted(),
            ServerInput::RetryDue => self.retry_due(),
            ServerInput::Ready { epoch, protocol, server } => self.ready(epoch, protocol, server),
            ServerInput::AttemptFailed { epoch, failure } => self.attempt_failed(epoch, failure),
            ServerInput::Closed { epoch, kind, reason } => self.closed(epoch, kind, reason),
            ServerInput::SessionLost { epoch } => self.session_lost(epoch),
            ServerInput::HealthReport { epoch, health } => self.health(epoch, health),
            ServerInput::Challenged { epoch, issuer } => self.challenged(epoch, issuer),
            ServerInput::Unregistered { reason } => self.unregistered(reason),
            ServerInput::Shutdown => self.shutdown(),
        }
    }

    fn switched(&mut self, on: bool, start: bool) {
        self.state.on = on;
        match self.state.phase {
            Phase::Stopped if on && start && !self.state.is_held => {
                self.open_first_attempt(StatusCause::User)
            }
            Phase::Stopped if !on => self.effects.push(ServerEffect::Settle),
            Phase::Disabled | Phase::Stopped => {}
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                if !on {
                    self.leave_phase();
                    self.enter_phase(Phase::Stopped, StatusCause::User);
                }
            }
        }
    }

    fn start(&mut self, cause: StatusCause) {
        match self.state.phase {
            Phase::Disabled => {
                self.effects.push(ServerEffect::Enable);
                self.open_first_attempt(cause);
            }
            Phase::Stopped
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => self.open_first_attempt(cause),
            Phase::Connecting { .. } | Phase::Connected { .. } => {}
        }
    }

    fn stop(&mut self) {
        match self.state.phase {
            Phase::Disabled => {}
            Phase::Stopped => self.state.is_held = true,
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.state.is_held = true;
                self.leave_phase();
                self.enter_phase(Phase::Stopped, StatusCause::User);
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
            | Phase::Failed { .. } => self.open_first_attempt(StatusCause::User),
        }
    }

    fn connection_changed(&mut self) {
        match self.state.phase {
            Phase::Disabled | Phase::Stopped => {}
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => self.open_first_attempt(StatusCause::Edited),
        }
    }

    fn switched_off(&mut self) {
        self.state.is_held = false;
        match self.state.phase {
            Phase::Disabled => {}
            Phase::Stopped
            | Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.leave_phase();
                self.enter_phase(Phase::Disabled, StatusCause::Edited);
            }
        }
    }

    fn switched_on(&mut self, start: bool) {
        match self.state.phase {
            Phase::Disabled if start => self.open_first_attempt(StatusCause::Edited),
            Phase::Disabled => self.enter_phase(Phase::Stopped, StatusCause::Edited),
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
            Phase::Stopped if self.state.is_held => self.effects.push(ServerEffect::Settle),
            Phase::Stopped => self.open(1, StatusCause::Call),
            Phase::Failed { attempts, .. } => self.open(attempts.saturating_add(1), StatusCause::Call),
            Phase::Connecting { .. } => {}
            Phase::Disabled
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. } => self.effects.push(ServerEffect::Settle),
        }
    }

    fn retry_due(&mut self) {
        if let Phase::Failed { attempts, next_retry: Some(_), .. } = self.state.phase {
            self.open(attempts.saturating_add(1), StatusCause::Retry);
        }
    }

    fn ready(&mut self, epoch: Epoch, protocol: String, server: ServerInfo) {
        if matches!(self.state.phase, Phase::Connecting { .. }) && epoch == self.state.epoch {
            self.state.phase = Phase::Connected { since: self.context.now, protocol, server, missed: 0 };
            self.effects.extend([ServerEffect::Announce(StatusCause::Handshake), ServerEffect::Settle]);
        }
    }

    fn attempt_failed(&mut self, epoch: Epoch, failure: ConnectFailure) {
        if let Phase::Connecting { attempt } = self.state.phase
            && epoch == self.state.epoch
        {
            self.effects.push(ServerEffect::Retire(epoch));
            match failure {
                ConnectFailure::NeedsAuth { issuer } => {
                    self.enter_phase(Phase::NeedsAuth { issuer }, StatusCause::Challenge);
                }
                ConnectFailure::Error { kind: FailureKind::Authorization, message: _ } => {
                    self.enter_phase(Phase::NeedsAuth { issuer: None }, StatusCause::Challenge);
                }
                ConnectFailure::NeedsClientRegistration { reason } => {
                    self.enter_phase(Phase::NeedsClientRegistration { reason }, StatusCause::Challenge);
                }
                ConnectFailure::Error { kind, message } => {
                    let should_retry = is_retryable(kind) && attempt <= MAX_RETRIES;
                    self.fail(
                        FailedConnection { kind, message, attempts: attempt, should_retry },
                        StatusCause::AttemptFailed,
                    );
                }
            }
        }
    }

    fn closed(&mut self, epoch: Epoch, kind: FailureKind, reason: UserText) {
        if let Phase::Connected { since, .. } = self.state.phase
            && epoch == self.state.epoch
        {
            let failed = FailedConnection {
                kind,
                message: reason.clone(),
                attempts: 1,
                should_retry: is_retryable(kind),
            };
            self.connection_lost(since, failed, StatusCause::UnexpectedClose { reason });
        }
    }

    /// After a lost session, reconnects once, immediately. If the next session is lost too soon,
    /// the server fails, because reconnecting would loop (SRV-6).
    fn session_lost(&mut self, epoch: Epoch) {
        if matches!(self.state.phase, Phase::Connected { .. }) && epoch == self.state.epoch {
            let now = self.context.now;
            let before = self.state.session_lost.replace(now);
            if before.is_some_and(|before| before.plus(SESSION_LASTS) > now) {
                self.leave_phase();
                let message = message!("error.servers.sessionLostAgain").into();
                let kind = FailureKind::Protocol;
                self.fail(
                    FailedConnection { kind, message, attempts: 1, should_retry: false },
                    StatusCause::SessionLost,
                );
            } else {
                self.open(1, StatusCause::SessionLost);
            }
        }
    }

    fn health(&mut self, epoch: Epoch, health: HealthReport) {
        if let Phase::Connected { since, missed, .. } = &mut self.state.phase
            && epoch == self.state.epoch
        {
            match health {
                HealthReport::Answered => *missed = 0,
                HealthReport::Busy => {}
                HealthReport::Missed { allowed } => {
                    *missed = missed.saturating_add(1);
                    if *missed >= allowed.max(1) {
                        let (since, missed) = (*since, *missed);
                        let message = message!("error.servers.healthChecks", count = missed).into();
                        let kind = FailureKind::TemporaryNetwork;
                        let failed = FailedConnection { kind, message, attempts: 1, should_retry: true };
                        self.connection_lost(since, failed, StatusCause::Unresponsive);
                    }
                }
            }
        }
    }

    fn challenged(&mut self, epoch: Epoch, issuer: Option<String>) {
        if matches!(self.state.phase, Phase::Connected { .. }) && epoch == self.state.epoch {
            self.leave_phase();
            self.enter_phase(Phase::NeedsAuth { issuer }, StatusCause::Challenge);
        }
    }

    fn unregistered(&mut self, reason: UserText) {
        match self.state.phase {
            Phase::NeedsAuth { .. } | Phase::NeedsClientRegistration { .. } => {
                self.enter_phase(Phase::NeedsClientRegistration { reason }, StatusCause::User);
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
            Phase::Disabled | Phase::Stopped => self.effects.push(ServerEffect::Settle),
            Phase::Connecting { .. }
            | Phase::Connected { .. }
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. }
            | Phase::Failed { .. } => {
                self.leave_phase();
                self.enter_phase(Phase::Stopped, StatusCause::Shutdown);
            }
        }
    }

    /// Begins a series of attempts with the first.
    fn open_first_attempt(&mut self, cause: StatusCause) {
        self.state.is_held = false;
        self.state.flaps = 0;
        self.state.session_lost = None;
        self.open(1, cause);
    }

    fn open(&mut self, attempt: u32, cause: StatusCause) {
        if !self.state.on {
            // While MCP is off, no attempt begins; the server is at most stopped.
            match self.state.phase {
                Phase::Stopped => self.effects.push(ServerEffect::Settle),
                Phase::Disabled
                | Phase::Connecting { .. }
                | Phase::Connected { .. }
                | Phase::NeedsAuth { .. }
                | Phase::NeedsClientRegistration { .. }
                | Phase::Failed { .. } => {
                    self.leave_phase();
                    self.enter_phase(Phase::Stopped, cause);
                }
            }
            return;
        }
        self.leave_phase();
        self.state.epoch = Epoch(self.state.epoch.0.saturating_add(1));
        self.state.phase = Phase::Connecting { attempt };
        self.effects.extend([ServerEffect::Announce(cause), ServerEffect::Open(self.state.epoch)]);
    }

    /// Gives up the attempt, connection or planned retry of the current phase.
    fn leave_phase(&mut self) {
        match self.state.phase {
            Phase::Connecting { .. } | Phase::Connected { .. } => {
                self.effects.push(ServerEffect::Retire(self.state.epoch));
            }
            Phase::Failed { next_retry: Some(_), .. } => self.effects.push(ServerEffect::ForgetRetry),
            Phase::Failed { next_retry: None, .. }
            | Phase::Disabled
            | Phase::Stopped
            | Phase::NeedsAuth { .. }
            | Phase::NeedsClientRegistration { .. } => {}
        }
    }

    /// Enters a phase in which nothing is in progress.
    fn enter_phase(&mut self, phase: Phase, cause: StatusCause) {
        self.state.phase = phase;
        self.effects.extend([ServerEffect::Announce(cause), ServerEffect::Settle]);
    }

    /// A connection broke: the first failure of a new series.
    fn connection_lost(&mut self, since: Timestamp, failed: FailedConnection, cause: StatusCause) {
        let short = since.plus(SHORT_LIFE) > self.context.now;
        self.state.flaps = if short { self.state.flaps.saturating_add(1) } else { 0 };
        self.leave_phase();
        self.fail(failed, cause);
    }

    fn fail(&mut self, failed: FailedConnection, cause: StatusCause) {
        let wait = failed
            .should_retry
            .then(|| backoff_after(failed.attempts.max(self.state.flaps), self.context.jitter));
        self.state.phase = Phase::Failed {
            error: failed.kind,
            message: failed.message,
            attempts: failed.attempts,
            next_retry: wait.map(|wait| self.context.now.plus(wait)),
        };
        self.effects.push(ServerEffect::Announce(cause));
        if let Some(wait) = wait {
            self.effects.push(ServerEffect::RetryAfter(wait));
        }
        self.effects.push(ServerEffect::Settle);
    }
}

/// Parameters of a change to [`Phase::Failed`].
struct FailedConnection {
    kind: FailureKind,
    message: UserText,
    attempts: u32,
    should_retry: bool,
}
