//! The actor of one server. It owns the server's state and its connection, feeds every event into
//! the pure state machine [`transition`] and executes the effects that it returns. It makes no
//! decisions of its own, never waits for the network in its loop, and leaves no task or process
//! running when it ends.

pub(crate) mod connector;
pub(crate) mod link;
mod publish;
pub(crate) mod refresh;
pub(crate) mod roster;
pub(crate) mod tenure;
mod upkeep;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_model::{Clock, ServerConfig};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::link::{ConnectOrder, Connector};
use self::refresh::Refresh;
use self::roster::Roster;
use self::tenure::{Opened, Tenure};
use crate::connection::{Inbound, LifecycleHint};
use crate::handle::Shared;
use crate::lists::{FetchError, Fetched, ListKind};
use crate::retry::Jitter;
use crate::transition::{Edit, Effect, Epoch, Input, Moment, Phase, State, transition};

/// Capacity of an actor's inbox, in messages.
pub(crate) const INBOX: usize = 64;

/// Capacity of the channel for unsolicited messages of a server.
const INBOUND: usize = 256;

/// Messages to an actor.
pub(crate) enum Message {
    /// An input of the state machine.
    Input(Input),
    /// The user stops the server; answered when nothing of the connection is left.
    Stop(oneshot::Sender<()>),
    /// MCP as a whole was switched on or off. After switching off, answered when nothing of the
    /// connection is left; after switching on, at once.
    Switched { on: bool, reply: oneshot::Sender<()> },
    /// The settings have changed.
    Edited,
    /// A call needs a connection; answered after one attempt to connect.
    Wanted(oneshot::Sender<()>),
    /// A call found its session expired; answered when the attempt to reconnect has ended, or at
    /// once if there is none.
    SessionLost {
        /// The connection on which it happened.
        epoch: Epoch,
        settled: oneshot::Sender<()>,
    },
    /// An attempt to connect succeeded.
    Ready(Box<Opened>),
    /// A list was read again.
    Refreshed {
        /// The connection on which it was read.
        epoch: Epoch,
        kind: ListKind,
        fetched: Result<Fetched, FetchError>,
    },
    /// A call was answered with an authorization challenge.
    Challenged {
        /// The connection on which it happened.
        epoch: Epoch,
        /// Authorization server, if the challenge names one.
        issuer: Option<String>,
    },
    /// A call failed in a way that suggests that the connection is broken; triggers a health check.
    Suspect(Epoch),
}

/// Dependencies of an actor.
#[derive(Clone)]
pub(crate) struct ActorDeps {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: fn() -> Jitter,
}

/// Tokens that end an actor.
#[derive(Clone)]
pub(crate) struct Ending {
    /// Graceful end.
    pub(crate) stop: CancellationToken,
    /// Immediate end: open connections are dropped without being closed.
    pub(crate) hard: CancellationToken,
}

pub(crate) struct ServerActor {
    shared: Arc<Shared>,
    deps: ActorDeps,
    ending: Ending,
    inbox: mpsc::Receiver<Message>,
    /// All tasks that this actor has spawned.
    tasks: TaskTracker,
    state: State,
    /// The settings that the state machine has processed last.
    applied: Arc<ServerConfig>,
    /// The lifecycle that the last handshake negotiated.
    lifecycle: LifecycleHint,
    /// Ends the current attempt or connection.
    tenure: Option<CancellationToken>,
    /// Cancelled when nothing of the newest attempt or connection is left.
    gone: Option<CancellationToken>,
    /// A connection that was just established, until `adopt` publishes it.
    arriving: Option<Box<Opened>>,
    inbound: Option<mpsc::Receiver<Inbound>>,
    waiting: Vec<oneshot::Sender<()>>,
    retry_at: Option<Instant>,
    refresh: Refresh,
    pulse: PulseTimer,
}

/// Timer of the health check.
#[derive(Debug, Default)]
struct PulseTimer {
    at: Option<Instant>,
    checking: bool,
}

enum Wake {
    End,
    Message(Message),
    Inbound(Inbound),
    InboundEnded,
    Timer,
}

impl ServerActor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        inbox: mpsc::Receiver<Message>,
        deps: ActorDeps,
        ending: Ending,
    ) -> Self {
        let applied = shared.config.load_full();
        Self {
            state: State { on: shared.is_on(), ..State::new(applied.enabled) },
            shared,
            deps,
            ending,
            inbox,
            tasks: TaskTracker::new(),
            applied,
            lifecycle: LifecycleHint::default(),
            tenure: None,
            gone: None,
            arriving: None,
            inbound: None,
            waiting: Vec::new(),
            retry_at: None,
            refresh: Refresh::default(),
            pulse: PulseTimer::default(),
        }
    }

    /// Runs until the actor is ended and everything that it started is gone.
    pub(crate) async fn run(mut self) {
        loop {
            match self.wake().await {
                Wake::End => break,
                Wake::Message(message) => self.take(message),
                Wake::Inbound(inbound) => self.hear(inbound),
                Wake::InboundEnded => self.inbound = None,
                Wake::Timer => self.timers(),
            }
        }
        self.step(Input::Shutdown);
        self.deps.roster.runs(&self.shared.id, false);
        let Self { tasks, inbox, waiting, .. } = self;
        drop((inbox, waiting));
        tasks.close();
        tasks.wait().await;
    }

    async fn wake(&mut self) -> Wake {
        let next = self.next_timer();
        let timer = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let inbound = async {
            match &mut self.inbound {
                Some(inbound) => inbound.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.ending.stop.cancelled() => Wake::End,
            message = self.inbox.recv() => message.map_or(Wake::End, Wake::Message),
            () = timer => Wake::Timer,
            inbound = inbound => inbound.map_or(Wake::InboundEnded, Wake::Inbound),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let lists = if self.connected() { self.refresh.next() } else { None };
        [self.retry_at, self.pulse.at, lists].into_iter().flatten().min()
    }

    fn timers(&mut self) {
        let now = Instant::now();
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.step(Input::RetryDue);
        }
        if self.pulse.at.is_some_and(|at| at <= now) {
            self.check_health();
        }
        if self.connected() {
            for kind in self.refresh.take_due(now) {
                self.read_again(kind);
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Input(input) => self.input(input),
            Message::Stop(reply) => {
                self.step(Input::Stop);
                self.answer_when_gone(reply);
            }
            Message::Switched { on, reply } => {
                let start = self.applied.enabled && self.applied.autostart;
                self.step(Input::Switched { on, start });
                if !on {
                    self.answer_when_gone(reply);
                } else if reply.send(()).is_err() {
                    tracing::trace!("nobody waits for the switch any more");
                }
            }
            Message::Edited => self.edited(),
            Message::Wanted(settled) => {
                self.waiting.push(settled);
                self.step(Input::Wanted);
            }
            Message::SessionLost { epoch, settled } => {
                self.waiting.push(settled);
                self.step(Input::SessionLost { epoch });
                if !matches!(self.state.phase, Phase::Connecting { .. }) {
                    self.execute(Effect::Settle);
                }
            }
            Message::Ready(opened) => {
                let (epoch, handshake) = (opened.epoch, opened.link.handshake());
                let (protocol, server) = (handshake.protocol.clone(), handshake.info.clone());
                self.arriving = Some(opened);
                self.step(Input::Ready { epoch, protocol, server });
                self.arriving = None;
            }
            Message::Refreshed { epoch, kind, fetched } => self.refreshed(epoch, kind, fetched),
            Message::Challenged { epoch, issuer } => self.step(Input::Challenged { epoch, issuer }),
            Message::Suspect(epoch) => self.doubt(epoch),
        }
    }

    fn input(&mut self, input: Input) {
        match &input {
            Input::Pulse { epoch, .. } if *epoch == self.state.epoch => {
                self.pulse.checking = false;
                self.plan_check();
            }
            Input::AttemptFailed { epoch, .. } if *epoch == self.state.epoch => {
                self.lifecycle = LifecycleHint::default();
                self.drain_lines();
            }
            Input::Closed { epoch, .. } if *epoch == self.state.epoch => self.drain_lines(),
            Input::Pulse { .. }
            | Input::AttemptFailed { .. }
            | Input::Closed { .. }
            | Input::Start { .. }
            | Input::Switched { .. }
            | Input::Stop
            | Input::Reconnect
            | Input::Edited(_)
            | Input::Wanted
            | Input::RetryDue
            | Input::Ready { .. }
            | Input::SessionLost { .. }
            | Input::Challenged { .. }
            | Input::Unregistered { .. }
            | Input::Shutdown => {}
        }
        self.step(input);
    }

    fn step(&mut self, input: Input) {
        let moment = Moment { now: self.deps.clock.now(), jitter: (self.deps.jitter)() };
        let state = std::mem::replace(&mut self.state, State::new(false));
        let (state, effects) = transition(state, input, moment);
        self.state = state;
        self.shared.held.store(self.state.held, Ordering::SeqCst);
        for effect in effects {
            self.execute(effect);
        }
    }

    fn execute(&mut self, effect: Effect) {
        match effect {
            Effect::Enable => self.enable(),
            Effect::Retire(_) => self.retire(),
            Effect::ForgetRetry => self.retry_at = None,
            Effect::Announce(cause) => self.announce(cause),
            Effect::Open(epoch) => self.open(epoch),
            Effect::RetryAfter(wait) => self.retry_at = Some(Instant::now() + wait),
            Effect::Settle => {
                for settled in self.waiting.drain(..) {
                    if settled.send(()).is_err() {
                        tracing::trace!(server = %self.shared.id, "a call no longer waits");
                    }
                }
            }
        }
    }

    fn connected(&self) -> bool {
        matches!(self.state.phase, Phase::Connected { .. })
    }

    fn enable(&mut self) {
        self.shared.config.rcu(|config| ServerConfig { enabled: true, ..(**config).clone() });
        self.applied = self.shared.config.load_full();
        self.deps.roster.changed();
    }

    /// Applies the current settings. The input for the state machine depends on how they differ
    /// from the settings that were applied before.
    fn edited(&mut self) {
        let now = self.shared.config.load_full();
        let edit = edit_between(&self.applied, &now);
        self.applied = now;
        if edit == Edit::Another {
            self.lifecycle = LifecycleHint::default();
        }
        self.deps.roster.changed();
        self.step(Input::Edited(edit));
        if self.connected() && !self.pulse.checking {
            self.plan_check();
        }
    }

    fn open(&mut self, epoch: Epoch) {
        let (inbound, receiver) = mpsc::channel(INBOUND);
        let (cancel, gone) = (CancellationToken::new(), CancellationToken::new());
        let order = ConnectOrder {
            config: Arc::clone(&self.applied),
            lifecycle: self.lifecycle,
            inbound,
            cancel: cancel.clone(),
        };
        let tenure = Tenure {
            epoch,
            connector: Arc::clone(&self.deps.connector),
            order,
            inbox: self.shared.inbox.clone(),
            before: self.gone.replace(gone.clone()),
        };
        self.tenure = Some(cancel);
        self.inbound = Some(receiver);
        let (hard, left) = (self.ending.hard.clone(), gone.drop_guard());
        self.tasks.spawn(async move {
            if hard.run_until_cancelled(Box::pin(tenure.run())).await.is_none() {
                tracing::warn!("a connection was dropped without being closed");
            }
            drop(left);
        });
    }

    fn retire(&mut self) {
        let live = self.shared.live.swap(None);
        if let (Some(live), Phase::Failed { message, .. }) = (live, &self.state.phase)
            && live.broke.set(message.clone()).is_err()
        {
            tracing::trace!(server = %self.shared.id, "the connection was given up before");
        }
        if let Some(tenure) = self.tenure.take() {
            tenure.cancel();
        }
        self.drain_lines();
        self.inbound = None;
        self.refresh = Refresh::default();
        self.pulse = PulseTimer::default();
    }

    /// Answers when nothing of the last connection is left.
    fn answer_when_gone(&self, reply: oneshot::Sender<()>) {
        let gone = self.gone.clone();
        let hard = self.ending.hard.clone();
        self.tasks.spawn(async move {
            if let Some(gone) = gone
                && hard.run_until_cancelled(gone.cancelled()).await.is_none()
            {
                return;
            }
            if reply.send(()).is_err() {
                tracing::trace!("nobody waits for the stop any more");
            }
        });
    }
}

/// Classifies a change of the settings by its effect on the connection.
pub(crate) fn edit_between(before: &ServerConfig, after: &ServerConfig) -> Edit {
    match (before.enabled, after.enabled) {
        (true, false) => Edit::SwitchedOff,
        (false, true) => Edit::SwitchedOn { start: after.autostart },
        (true, true) | (false, false) => {
            if before.transport != after.transport || before.generation != after.generation {
                Edit::Another
            } else {
                Edit::Cosmetic
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;
