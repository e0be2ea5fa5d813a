//! Test support for actors: a manager with scripted servers, a clock that follows tokio's, and a
//! record of all events, one line each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use gatehouse_model::server::{Limits, LogLevel, LogLine, LogSource, Look, Origin, Remote};
use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{
    BoxFuture, Clock, Event, EventSink, Generation, ServerConfig, ServerStatus, StatusCause, Timestamp,
    Transport,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ActorDeps;
use super::link::{ConnectOrder, Connector, Link, LinkEnd, LinkError, LinkRequest};
use super::roster::Roster;
use crate::connection::{Era, Handshake, Inbound, LifecycleHint};
use crate::handle::{CallError, ServerHandle, UpstreamCall};
use crate::json;
use crate::manager::ServerManager;
use crate::outgoing::{OutgoingParams, Reply};
use crate::retry::Jitter;
use crate::transition::Failure;

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The result of `tools/list` with tools of these names.
pub(crate) fn lists_of(names: &[&str]) -> serde_json::Value {
    let tools: Vec<_> = names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
    json!({ "tools": tools })
}

pub(crate) struct Settings {
    pub(crate) config: ServerConfig,
}

pub(crate) fn http(name: &str) -> Settings {
    Settings { config: config_of(name) }
}

pub(crate) fn config_of(name: &str) -> ServerConfig {
    ServerConfig {
        id: name.into(),
        generation: Generation::default(),
        name: name.to_owned(),
        transport: Transport::Http(Remote::at(format!("http://{name}/mcp"))),
        enabled: true,
        autostart: true,
        look: Look::default(),
        limits: Limits::default(),
        origin: Origin::User,
    }
}

impl Settings {
    pub(crate) fn at(mut self, url: &str) -> Self {
        self.config.transport = Transport::Http(Remote::at(url));
        self
    }

    pub(crate) fn disabled(mut self) -> Self {
        self.config.enabled = false;
        self
    }

    pub(crate) fn by_hand(mut self) -> Self {
        self.config.autostart = false;
        self
    }
}

/// A manager with scripted servers.
pub(crate) struct House {
    pub(crate) manager: ServerManager,
    street: Arc<Street>,
    record: Arc<Record>,
    /// How many lines `sees` and `story` have consumed.
    seen: AtomicUsize,
    told: AtomicUsize,
}

impl House {
    pub(crate) fn new() -> Self {
        let (street, record) = (Arc::new(Street::default()), Arc::new(Record::new()));
        let deps = ActorDeps {
            connector: Arc::clone(&street) as Arc<dyn Connector>,
            roster: Arc::new(Roster::new(Arc::clone(&record) as Arc<dyn EventSink>)),
            clock: Arc::new(TokioClock(Instant::now())),
            jitter: || Jitter::NONE,
        };
        let manager = ServerManager::assemble(deps, None, None);
        Self { manager, street, record, seen: AtomicUsize::new(0), told: AtomicUsize::new(0) }
    }

    /// A manager with one connected server; its events so far are consumed.
    pub(crate) async fn connected(name: &str) -> Self {
        let house = Self::new();
        house.server(name).opens();
        house.put(http(name)).await;
        house.sees(&format!("{name} connected")).await;
        house.story();
        house
    }

    pub(crate) async fn put(&self, settings: Settings) {
        self.manager.put(settings.config).await.unwrap();
    }

    pub(crate) fn server(&self, name: &str) -> Server {
        Server(self.street.script(name))
    }

    pub(crate) fn handle(&self, name: &str) -> ServerHandle {
        self.manager.get(&name.into()).unwrap()
    }

    pub(crate) fn line(text: &str) -> LogLine {
        LogLine { at: Timestamp(0), source: LogSource::Stderr, level: None, text: text.to_owned() }
    }

    /// Waits for an event line with this beginning, after the last one that was consumed.
    pub(crate) async fn sees(&self, beginning: &str) {
        let mut lines = self.record.lines.subscribe();
        let found = tokio::time::timeout(secs(7200), async {
            lines
                .wait_for(|lines| {
                    let from = self.seen.load(SeqCst);
                    match lines[from..].iter().position(|line| line.starts_with(beginning)) {
                        Some(place) => {
                            self.seen.store(from + place + 1, SeqCst);
                            true
                        }
                        None => false,
                    }
                })
                .await
                .unwrap();
        });
        assert!(found.await.is_ok(), "never saw {beginning:?} in {:#?}", self.record.lines.borrow());
    }

    /// The event lines since the last call.
    pub(crate) fn story(&self) -> Vec<String> {
        let lines = self.record.lines.borrow();
        let from = self.told.swap(lines.len(), SeqCst);
        self.seen.store(lines.len(), SeqCst);
        lines[from..].to_vec()
    }

    /// Runs all tasks that don't need time to pass.
    pub(crate) async fn settle(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn call(&self, name: &str) -> Result<Reply, CallError> {
        self.call_method(name, "tools/call").await
    }

    pub(crate) async fn call_method(&self, name: &str, method: &'static str) -> Result<Reply, CallError> {
        self.handle(name).call(upstream(method)).await
    }

    pub(crate) async fn call_generation(
        &self,
        name: &str,
        generation: Generation,
    ) -> Result<Reply, CallError> {
        self.handle(name).call_generation(generation, upstream("tools/call")).await
    }

    pub(crate) fn spawn_call(&self, name: &str) -> JoinHandle<Result<Reply, CallError>> {
        let handle = self.handle(name);
        tokio::spawn(async move { handle.call(upstream("tools/call")).await })
    }

    pub(crate) async fn end(&self) {
        let begun = Instant::now();
        self.manager.shutdown().await;
        assert!(begun.elapsed() < secs(10), "the shutdown had to use force");
    }
}

pub(crate) fn upstream(method: &'static str) -> UpstreamCall {
    UpstreamCall {
        method,
        params: OutgoingParams::none(),
        progress: None,
        responder: None,
        cancel: CancellationToken::new(),
    }
}

#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000).plus(self.0.elapsed())
    }
}

struct Record {
    lines: watch::Sender<Vec<String>>,
    begun: Instant,
}

impl Record {
    fn new() -> Self {
        Self { lines: watch::Sender::new(Vec::new()), begun: Instant::now() }
    }

    fn line(&self, event: Event) -> String {
        match event {
            Event::ServerAdded { server, .. } => format!("{server} added"),
            Event::ServerRemoved { server, .. } => format!("{server} removed"),
            Event::ServerStarted { server } => format!("{server} started"),
            Event::ServerStopped { server } => format!("{server} ended"),
            Event::StatusChanged { server, status, cause } => {
                format!("{server} {} ({})", self.status(&status), cause_words(&cause))
            }
            Event::RunningServers { servers } => {
                let names: Vec<&str> = servers.iter().map(|server| server.as_str()).collect();
                format!("running: {}", names.join(", "))
            }
            Event::ToolsChanged { server } => format!("{server} tools changed"),
            Event::PromptsChanged { server } => format!("{server} prompts changed"),
            Event::ResourcesChanged { server, .. } => format!("{server} resources changed"),
            Event::LogLine { server, line } => format!("{server} log: {}", line.text),
            Event::SignInNeeded { server, .. } => format!("{server} sign in"),
            other => format!("{other:?}"),
        }
    }

    fn status(&self, status: &ServerStatus) -> String {
        let now = TokioClock(self.begun).now();
        match status {
            ServerStatus::Connecting { attempt } => format!("connecting {attempt}"),
            ServerStatus::Failed { attempts, next_retry: Some(at), .. } => {
                format!("failed {attempts}, again in {} s", at.remaining(now).as_secs())
            }
            ServerStatus::Failed { attempts, next_retry: None, .. } => format!("failed {attempts}"),
            other => other.word().to_owned(),
        }
    }
}

fn cause_words(cause: &StatusCause) -> String {
    let value = serde_json::to_value(cause).unwrap();
    let word = value["cause"].as_str().unwrap();
    match cause {
        StatusCause::UnexpectedClose { reason } => format!("{word}: {reason}"),
        _ => word.to_owned(),
    }
}

impl EventSink for Record {
    fn emit(&self, event: Event) {
        let line = self.line(event);
        self.lines.send_modify(|lines| lines.push(line));
    }
}

/// The servers that can be connected to.
#[derive(Default)]
struct Street(Mutex<HashMap<String, Arc<Script>>>);

impl Street {
    fn script(&self, name: &str) -> Arc<Script> {
        Arc::clone(self.0.lock().entry(name.to_owned()).or_default())
    }
}

impl Connector for Street {
    fn connect(&self, order: ConnectOrder) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(self.script(order.config.id.as_str()).connect(order))
    }
}

/// Behaviour of a server on an attempt to connect.
#[derive(Clone, Default)]
enum Door {
    /// Never responds to the attempt.
    #[default]
    Shut,
    /// Accepts the connection; with `silent` it never responds to a request.
    Opens { silent: bool },
    /// Rejects the connection.
    Refuses(FailureKind),
}

struct Script {
    door: watch::Sender<Door>,
    next: Mutex<VecDeque<Result<(), Failure>>>,
    attempts: watch::Sender<usize>,
    cancelled: AtomicUsize,
    asked: Mutex<HashMap<&'static str, usize>>,
    tools: Mutex<serde_json::Value>,
    declared: Mutex<String>,
    era: Mutex<Era>,
    open: Mutex<(usize, usize)>,
    dropped: AtomicUsize,
    breaks: Mutex<bool>,
    deaf_to: Mutex<Option<&'static str>>,
    list_delay: Mutex<Duration>,
    close_delay: Mutex<Duration>,
    newest: Mutex<Option<(mpsc::Sender<Inbound>, Arc<Ends>)>>,
}

/// Ends a connection from outside.
struct Ends {
    end: watch::Sender<Option<LinkEnd>>,
    silent: watch::Sender<bool>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            door: watch::Sender::new(Door::Shut),
            next: Mutex::default(),
            attempts: watch::Sender::new(0),
            cancelled: AtomicUsize::new(0),
            asked: Mutex::default(),
            tools: Mutex::new(lists_of(&["echo"])),
            declared: Mutex::new(r#"{"tools":{"listChanged":true}}"#.to_owned()),
            era: Mutex::new(Era::Stateful),
            open: Mutex::default(),
            dropped: AtomicUsize::new(0),
            breaks: Mutex::default(),
            deaf_to: Mutex::default(),
            list_delay: Mutex::default(),
            close_delay: Mutex::default(),
            newest: Mutex::default(),
        }
    }
}

impl Script {
    async fn connect(self: Arc<Self>, order: ConnectOrder) -> Result<Arc<dyn Link>, Failure> {
        self.attempts.send_modify(|attempts| *attempts += 1);
        let next = self.next.lock().pop_front();
        match next {
            Some(Err(failure)) => return Err(failure),
            Some(Ok(())) => return Ok(self.link(order, false)),
            None => {}
        }
        let mut door = self.door.subscribe();
        let door = tokio::select! {
            door = door.wait_for(|door| !matches!(door, Door::Shut)) => door.unwrap().clone(),
            () = order.cancel.cancelled() => {
                self.cancelled.fetch_add(1, SeqCst);
                return Err(Server::error(FailureKind::Unknown));
            }
        };
        match door {
            Door::Opens { silent } => Ok(self.link(order, silent)),
            Door::Refuses(kind) => Err(Server::error(kind)),
            Door::Shut => unreachable!(),
        }
    }

    fn link(self: Arc<Self>, order: ConnectOrder, silent: bool) -> Arc<dyn Link> {
        {
            let mut open = self.open.lock();
            open.0 += 1;
            open.1 = open.1.max(open.0);
        }
        let ends = Arc::new(Ends { end: watch::Sender::new(None), silent: watch::Sender::new(silent) });
        *self.newest.lock() = Some((order.inbound, Arc::clone(&ends)));
        let handshake = Handshake {
            protocol: "2025-11-25".to_owned(),
            era: *self.era.lock(),
            info: ServerInfo::default(),
            capabilities: serde_json::from_str(&self.declared.lock()).unwrap(),
            lifecycle: LifecycleHint::Initialize,
        };
        Arc::new(ScriptLink { script: self, handshake, ends, closed: Mutex::new(false) })
    }
}

struct ScriptLink {
    script: Arc<Script>,
    handshake: Handshake,
    ends: Arc<Ends>,
    closed: Mutex<bool>,
}

impl ScriptLink {
    fn gone(&self) {
        if !std::mem::replace(&mut *self.closed.lock(), true) {
            self.script.open.lock().0 -= 1;
        }
    }

    async fn answer(&self, method: &'static str) -> Result<Reply, LinkError> {
        let script = &self.script;
        let tools = script.tools.lock().clone();
        let (breaks, delay) = (*script.breaks.lock(), *script.list_delay.lock());
        let mut silent = self.ends.silent.subscribe();
        silent.wait_for(|silent| !silent).await.unwrap();
        let deaf = *script.deaf_to.lock() == Some(method);
        if deaf {
            std::future::pending::<()>().await;
        }
        match method {
            "tools/call" if breaks => {
                Err(LinkError::Failed { kind: FailureKind::TemporaryNetwork, message: "broken".to_owned() })
            }
            "tools/call" => Ok(Reply::Result(json::raw(&json!({ "content": [] })))),
            "tools/list" => {
                tokio::time::sleep(delay).await;
                Ok(Reply::Result(json::raw(&tools)))
            }
            "prompts/list" => Ok(Reply::Result(json::raw(&json!({ "prompts": [{ "name": "ask" }] })))),
            _ => Ok(Reply::Result(json::empty_object())),
        }
    }
}

impl Drop for ScriptLink {
    fn drop(&mut self) {
        self.gone();
    }
}

/// Counts a call that is dropped before its response.
struct Unanswered<'a>(&'a AtomicUsize, bool);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, SeqCst);
        }
    }
}

impl Link for ScriptLink {
    fn watch(&self, _: std::collections::BTreeSet<String>) {}

    fn set_log_level(&self, _: Option<LogLevel>) {}

    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    fn request(&self, request: LinkRequest) -> BoxFuture<'_, Result<Reply, LinkError>> {
        *self.script.asked.lock().entry(request.method).or_default() += 1;
        Box::pin(async move {
            let mut unanswered = Unanswered(&self.script.dropped, request.method != "tools/call");
            let span = request.limit.silent.or(request.limit.cap).unwrap();
            let answer = tokio::time::timeout(span, self.answer(request.method)).await;
            unanswered.1 = true;
            answer.unwrap_or(Err(LinkError::TimedOut { after: span }))
        })
    }

    fn closed(&self) -> BoxFuture<'_, LinkEnd> {
        Box::pin(async move {
            let mut end = self.ends.end.subscribe();
            end.wait_for(Option::is_some).await.unwrap().clone().unwrap()
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let delay = *self.script.close_delay.lock();
            tokio::time::sleep(delay).await;
            self.gone();
        })
    }
}

pub(crate) struct Server(Arc<Script>);

impl Server {
    pub(crate) fn error(kind: FailureKind) -> Failure {
        Failure::Error { kind, message: "why".to_owned() }
    }

    pub(crate) fn opens(&self) {
        self.0.door.send_replace(Door::Opens { silent: false });
    }

    pub(crate) fn opens_silent(&self) {
        self.0.door.send_replace(Door::Opens { silent: true });
    }

    pub(crate) fn refuses_always(&self, kind: FailureKind) {
        self.0.door.send_replace(Door::Refuses(kind));
    }

    /// Queues the outcome of the next attempt that has none yet.
    pub(crate) fn answers_next(&self, answer: Result<(), Failure>) {
        self.0.next.lock().push_back(answer);
    }

    pub(crate) async fn wait_for_attempts(&self, number: usize) {
        let mut attempts = self.0.attempts.subscribe();
        let enough = attempts.wait_for(|attempts| *attempts >= number);
        tokio::time::timeout(secs(7200), enough).await.unwrap().unwrap();
    }

    pub(crate) fn attempts(&self) -> usize {
        *self.0.attempts.borrow()
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.0.cancelled.load(SeqCst)
    }

    pub(crate) fn dropped_calls(&self) -> usize {
        self.0.dropped.load(SeqCst)
    }

    pub(crate) fn open_now(&self) -> usize {
        self.0.open.lock().0
    }

    pub(crate) fn most_open(&self) -> usize {
        self.0.open.lock().1
    }

    pub(crate) fn asked(&self, method: &str) -> usize {
        self.0.asked.lock().get(method).copied().unwrap_or(0)
    }

    pub(crate) fn offers(&self, tools: serde_json::Value) {
        *self.0.tools.lock() = tools;
    }

    pub(crate) fn declares(&self, capabilities: &str) {
        *self.0.declared.lock() = capabilities.to_owned();
    }

    pub(crate) fn speaks(&self, era: Era) {
        *self.0.era.lock() = era;
    }

    pub(crate) fn breaks_calls(&self) {
        *self.0.breaks.lock() = true;
    }

    pub(crate) fn is_deaf_to(&self, method: Option<&'static str>) {
        *self.0.deaf_to.lock() = method;
    }

    pub(crate) fn closes_slowly(&self, delay: Duration) {
        *self.0.close_delay.lock() = delay;
    }

    pub(crate) fn answers_lists_after(&self, delay: Duration) {
        *self.0.list_delay.lock() = delay;
    }

    pub(crate) fn falls_silent(&self) {
        self.newest().1.silent.send_replace(true);
    }

    pub(crate) fn wakes_up(&self) {
        self.newest().1.silent.send_replace(false);
    }

    pub(crate) fn says(&self, inbound: Inbound) {
        self.newest().0.try_send(inbound).unwrap();
    }

    pub(crate) fn dies(&self, reason: &str) {
        let end = LinkEnd::Closed { kind: FailureKind::TemporaryNetwork, reason: reason.to_owned() };
        self.newest().1.end.send_replace(Some(end));
    }

    fn newest(&self) -> (mpsc::Sender<Inbound>, Arc<Ends>) {
        self.0.newest.lock().clone().unwrap()
    }
}
