//! The actor of one server. It owns the server's state and its connection, feeds every event into
//! the pure state machine [`transition`] and executes the effects that it returns. It makes no
//! decisions of its own, never waits for the network in its loop, and leaves no task or process
//! running when it ends.

pub(crate) mod connection_attempt;
pub(crate) mod connector;
mod maintenance;
mod publish;
pub(crate) mod refresh;
pub(crate) mod registry;
mod second_connection_task;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_mcp_client::{Inbound, LifecycleHint, Redactor};
use gatehouse_model::{Clock, ServerConfig};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection_attempt::ConnectionAttempt;
use self::connector::{ConnectOptions, Connector};
use self::refresh::ListRefresh;
use self::registry::SharedRegistry;
use crate::retry::Jitter;
use crate::shared::{ActorMessage, EstablishedConnection, ServerShared};
use crate::transition::{
    ConfigEdit, Epoch, Phase, ServerEffect, ServerInput, ServerState, TransitionContext, transition,
};

/// Capacity of an actor's inbox, in messages.
pub(crate) const INBOX: usize = 64;

/// Capacity of the channel for unsolicited messages of a server.
const INBOUND: usize = 256;

/// Dependencies of an actor.
#[derive(Clone)]
pub(crate) struct ActorDeps {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) registry: Arc<SharedRegistry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: fn() -> Jitter,
}

/// Tokens that end an actor.
#[derive(Clone)]
pub(crate) struct ActorShutdown {
    /// Graceful end.
    pub(crate) stop: CancellationToken,
    /// Immediate end: open connections are dropped without being closed.
    pub(crate) hard: CancellationToken,
}

pub(crate) struct ServerActor {
    shared: Arc<ServerShared>,
    deps: ActorDeps,
    shutdown: ActorShutdown,
    inbox: mpsc::Receiver<ActorMessage>,
    /// All tasks that this actor has spawned.
    tasks: TaskTracker,
    state: ServerState,
    /// The settings that the state machine has processed last.
    applied: Arc<ServerConfig>,
    /// The lifecycle that the last handshake negotiated.
    lifecycle: LifecycleHint,
    /// Whether the lists were read from the server by this actor, and not before.
    has_own_lists: bool,
    /// Ends the current attempt or connection.
    connection_attempt: Option<CancellationToken>,
    /// Cancelled when nothing of the newest attempt or connection is left.
    gone: Option<CancellationToken>,
    /// A connection that was just established, until `adopt_connection` publishes it.
    pending_connection: Option<Box<EstablishedConnection>>,
    inbound: Option<mpsc::Receiver<Inbound>>,
    waiting: Vec<oneshot::Sender<()>>,
    retry_at: Option<Instant>,
    refresh: ListRefresh,
    health: HealthTimer,
}

/// Timer of the health check.
#[derive(Debug, Default)]
struct HealthTimer {
    at: Option<Instant>,
    checking: bool,
}

enum Wake {
    End,
    ActorMessage(ActorMessage),
    Inbound(Inbound),
    InboundEnded,
    Timer,
}

impl ServerActor {
    pub(crate) fn new(
        shared: Arc<ServerShared>,
        inbox: mpsc::Receiver<ActorMessage>,
        deps: ActorDeps,
        shutdown: ActorShutdown,
    ) -> Self {
        let applied = shared.config.load_full();
        Self {
            state: ServerState {
                on: shared.is_on(),
                is_held: shared.is_held.load(Ordering::SeqCst),
                ..ServerState::new(applied.enabled)
            },
            shared,
            deps,
            shutdown,
            inbox,
            tasks: TaskTracker::new(),
            applied,
            lifecycle: LifecycleHint::default(),
            has_own_lists: false,
            connection_attempt: None,
            gone: None,
            pending_connection: None,
            inbound: None,
            waiting: Vec::new(),
            retry_at: None,
            refresh: ListRefresh::default(),
            health: HealthTimer::default(),
        }
    }

    /// Runs until the actor is ended and everything that it started is gone.
    pub(crate) async fn run(mut self) {
        loop {
            match self.wake().await {
                Wake::End => break,
                Wake::ActorMessage(message) => self.take(message),
                Wake::Inbound(inbound) => self.handle_inbound(inbound),
                Wake::InboundEnded => self.inbound = None,
                Wake::Timer => self.run_due_timers(),
            }
        }
        self.step(ServerInput::Shutdown);
        self.deps.registry.set_running(&self.shared.id, false);
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
            () = self.shutdown.stop.cancelled() => Wake::End,
            message = self.inbox.recv() => message.map_or(Wake::End, Wake::ActorMessage),
            () = timer => Wake::Timer,
            inbound = inbound => inbound.map_or(Wake::InboundEnded, Wake::Inbound),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let lists = if self.connected() { self.refresh.next() } else { None };
        [self.retry_at, self.health.at, lists].into_iter().flatten().min()
    }

    fn run_due_timers(&mut self) {
        let now = Instant::now();
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.step(ServerInput::RetryDue);
        }
        if self.health.at.is_some_and(|at| at <= now) {
            self.check_health();
        }
        if self.connected() {
            for kind in self.refresh.take_due(now) {
                self.refetch_list(kind);
            }
        }
    }

    fn take(&mut self, message: ActorMessage) {
        match message {
            ActorMessage::ServerInput(input) => self.input(input),
            ActorMessage::Stop(reply) => {
                self.step(ServerInput::Stop);
                self.reply_when_closed(reply);
            }
            ActorMessage::Switched { on, reply } => {
                let start = self.applied.enabled && self.applied.autostart;
                self.step(ServerInput::Switched { on, start });
                if !on {
                    self.reply_when_closed(reply);
                } else if reply.send(()).is_err() {
                    tracing::trace!("nobody waits for the switch any more");
                }
            }
            ActorMessage::Edited => self.apply_edit(),
            ActorMessage::Wanted(settled) => {
                self.waiting.push(settled);
                self.step(ServerInput::Wanted);
            }
            ActorMessage::SessionLost { epoch, settled } => {
                self.waiting.push(settled);
                self.step(ServerInput::SessionLost { epoch });
                if !matches!(self.state.phase, Phase::Connecting { .. }) {
                    self.execute(ServerEffect::Settle);
                }
            }
            ActorMessage::Ready(opened) => {
                let (epoch, handshake) = (opened.epoch, opened.connection.handshake());
                let (protocol, server) = (handshake.protocol.clone(), handshake.info.clone());
                self.pending_connection = Some(opened);
                self.step(ServerInput::Ready { epoch, protocol, server });
                self.pending_connection = None;
            }
            ActorMessage::Refreshed { epoch, kind, fetched } => {
                self.apply_refreshed_list(epoch, kind, fetched)
            }
            ActorMessage::Challenged { epoch, issuer } => {
                self.step(ServerInput::Challenged { epoch, issuer })
            }
            ActorMessage::Suspect(epoch) => self.check_suspect(epoch),
            ActorMessage::Remark(text) => self.log_remark(text),
        }
    }

    fn input(&mut self, input: ServerInput) {
        match &input {
            ServerInput::HealthReport { epoch, .. } if *epoch == self.state.epoch => {
                self.health.checking = false;
                self.schedule_health_check();
            }
            ServerInput::AttemptFailed { epoch, .. } if *epoch == self.state.epoch => {
                self.lifecycle = LifecycleHint::default();
                self.drain_lines();
            }
            ServerInput::Closed { epoch, .. } if *epoch == self.state.epoch => self.drain_lines(),
            ServerInput::HealthReport { .. }
            | ServerInput::AttemptFailed { .. }
            | ServerInput::Closed { .. }
            | ServerInput::Start { .. }
            | ServerInput::Switched { .. }
            | ServerInput::Stop
            | ServerInput::Reconnect
            | ServerInput::Edited(_)
            | ServerInput::Wanted
            | ServerInput::RetryDue
            | ServerInput::Ready { .. }
            | ServerInput::SessionLost { .. }
            | ServerInput::Challenged { .. }
            | ServerInput::Unregistered { .. }
            | ServerInput::Shutdown => {}
        }
        self.step(input);
    }

    fn step(&mut self, input: ServerInput) {
        let context = TransitionContext { now: self.deps.clock.now(), jitter: (self.deps.jitter)() };
        let state = std::mem::replace(&mut self.state, ServerState::new(false));
        let (state, effects) = transition(state, input, context);
        self.state = state;
        self.shared.is_held.store(self.state.is_held, Ordering::SeqCst);
        for effect in effects {
            self.execute(effect);
        }
    }

    fn execute(&mut self, effect: ServerEffect) {
        match effect {
            ServerEffect::Enable => self.enable(),
            ServerEffect::Retire(_) => self.retire(),
            ServerEffect::ForgetRetry => self.retry_at = None,
            ServerEffect::Announce(cause) => self.publish_status(cause),
            ServerEffect::Open(epoch) => self.open(epoch),
            ServerEffect::RetryAfter(wait) => self.retry_at = Some(Instant::now() + wait),
            ServerEffect::Settle => {
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
        self.deps.registry.changed();
    }

    /// Applies the current settings. The input for the state machine depends on how they differ
    /// from the settings that were applied before.
    fn apply_edit(&mut self) {
        let now = self.shared.config.load_full();
        let edit = diff_configs(&self.applied, &now);
        self.applied = now;
        if edit == ConfigEdit::ConnectionChanged {
            self.lifecycle = LifecycleHint::default();
        }
        self.deps.registry.changed();
        self.step(ServerInput::Edited(edit));
        if self.connected() && !self.health.checking {
            self.schedule_health_check();
        }
    }

    fn open(&mut self, epoch: Epoch) {
        let (inbound, receiver) = mpsc::channel(INBOUND);
        let (cancel, gone) = (CancellationToken::new(), CancellationToken::new());
        let options = ConnectOptions {
            config: Arc::clone(&self.applied),
            lifecycle: self.lifecycle,
            redactor: Redactor::default(),
            inbound,
            cancel: cancel.clone(),
        };
        let connection_attempt = ConnectionAttempt {
            epoch,
            connector: Arc::clone(&self.deps.connector),
            options,
            shared: Arc::clone(&self.shared),
            before: self.gone.replace(gone.clone()),
        };
        self.connection_attempt = Some(cancel);
        self.inbound = Some(receiver);
        let (hard, left) = (self.shutdown.hard.clone(), gone.drop_guard());
        self.tasks.spawn(async move {
            if hard.run_until_cancelled(Box::pin(connection_attempt.run())).await.is_none() {
                tracing::warn!("a connection was dropped without being closed");
            }
            drop(left);
        });
    }

    fn retire(&mut self) {
        let live = self.shared.live.swap(None);
        if let (Some(live), Phase::Failed { message, .. }) = (live, &self.state.phase)
            && live.break_reason.set(message.clone()).is_err()
        {
            tracing::trace!(server = %self.shared.id, "the connection was given up before");
        }
        if let Some(connection_attempt) = self.connection_attempt.take() {
            connection_attempt.cancel();
        }
        self.drain_lines();
        self.inbound = None;
        self.refresh = ListRefresh::default();
        self.health = HealthTimer::default();
    }

    /// Answers when nothing of the last connection is left.
    fn reply_when_closed(&self, reply: oneshot::Sender<()>) {
        let gone = self.gone.clone();
        let hard = self.shutdown.hard.clone();
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
pub(crate) fn diff_configs(before: &ServerConfig, after: &ServerConfig) -> ConfigEdit {
    match (before.enabled, after.enabled) {
        (true, false) => ConfigEdit::SwitchedOff,
        (false, true) => ConfigEdit::SwitchedOn { start: after.autostart },
        (true, true) | (false, false) => {
            if before.transport != after.transport
                || before.generation != after.generation
                || before.protocol_version != after.protocol_version
            {
                ConfigEdit::ConnectionChanged
            } else {
                ConfigEdit::Cosmetic
            }
        }
    }
}
