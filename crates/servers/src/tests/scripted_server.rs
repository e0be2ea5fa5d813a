//! Test support for actors: a manager with scripted servers, a clock that follows tokio's, and a
//! record of all events, one line each.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use gatehouse_mcp_client::{
    CallLimit, ConnectionEnd, Handshake, Inbound, LifecycleHint, RequestParams, RpcOutcome, ServerConnection,
    UpstreamError, UpstreamErrorKind, UpstreamRequest, json as raw_json,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::{LogLevel, LogLine, LogSource, Remote};
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

use crate::actor::ActorDeps;
use crate::actor::connector::{ConnectOptions, Connector};
use crate::actor::registry::SharedRegistry;
use crate::handle::ServerHandle;
use crate::manager::ServerManager;
use crate::retry::Jitter;
use crate::transition::ConnectFailure;

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The result of `tools/list` with tools of these names.
pub(crate) fn lists_of(names: &[&str]) -> serde_json::Value {
    let tools: Vec<_> = names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
    json!({ "tools": tools })
}

pub(crate) struct TestServerConfig {
    pub(crate) config: ServerConfig,
}

pub(crate) fn http(name: &str) -> TestServerConfig {
    TestServerConfig { config: config_of(name) }
}

pub(crate) fn config_of(name: &str) -> ServerConfig {
    ServerConfig::new(name, name, Transport::Http(Remote::at(format!("http://{name}/mcp"))))
}

impl TestServerConfig {
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
pub(crate) struct ActorHarness {
    pub(crate) manager: ServerManager,
    scripted_connector: Arc<ScriptedConnector>,
    recorded_events: Arc<RecordedEvents>,
    /// How many lines `wait_for_event` and `take_events` have consumed.
    seen: AtomicUsize,
    told: AtomicUsize,
}

impl ActorHarness {
    pub(crate) fn new() -> Self {
        let (scripted_connector, recorded_events) =
            (Arc::new(ScriptedConnector::default()), Arc::new(RecordedEvents::new()));
        let deps = ActorDeps {
            connector: Arc::clone(&scripted_connector) as Arc<dyn Connector>,
            registry: Arc::new(SharedRegistry::new(Arc::clone(&recorded_events) as Arc<dyn EventSink>)),
            clock: Arc::new(TokioClock(Instant::now())),
            jitter: || Jitter::NONE,
        };
        let manager = ServerManager::assemble(deps, None, None);
        Self {
            manager,
            scripted_connector,
            recorded_events,
            seen: AtomicUsize::new(0),
            told: AtomicUsize::new(0),
        }
    }

    /// A manager with one connected server; its events so far are consumed.
    pub(crate) async fn connected(name: &str) -> Self {
        let harness = Self::new();
        harness.server(name).opens();
        harness.put(http(name)).await;
        harness.wait_for_event(&format!("{name} connected")).await;
        harness.take_events();
        harness
    }

    pub(crate) async fn put(&self, settings: TestServerConfig) {
        self.manager.put(settings.config).await.unwrap();
    }

    pub(crate) fn server(&self, name: &str) -> ScriptedServer {
        ScriptedServer(self.scripted_connector.script(name))
    }

    pub(crate) fn handle(&self, name: &str) -> ServerHandle {
        self.manager.get(&name.into()).unwrap()
    }

    pub(crate) fn line(text: &str) -> LogLine {
        LogLine { at: Timestamp(0), source: LogSource::Stderr, level: None, text: text.to_owned() }
    }

    /// Waits for an event line with this beginning, after the last one that was consumed.
    pub(crate) async fn wait_for_event(&self, beginning: &str) {
        let mut lines = self.recorded_events.lines.subscribe();
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
        assert!(found.await.is_ok(), "never saw {beginning:?} in {:#?}", self.recorded_events.lines.borrow());
    }

    /// The event lines since the last call.
    pub(crate) fn take_events(&self) -> Vec<String> {
        let lines = self.recorded_events.lines.borrow();
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

    pub(crate) async fn call(&self, name: &str) -> Result<RpcOutcome, UpstreamError> {
        self.call_method(name, "tools/call").await
    }

    pub(crate) async fn call_method(
        &self,
        name: &str,
        method: &'static str,
    ) -> Result<RpcOutcome, UpstreamError> {
        self.handle(name).call(upstream(method)).await
    }

    pub(crate) async fn call_generation(
        &self,
        name: &str,
        generation: Generation,
    ) -> Result<RpcOutcome, UpstreamError> {
        self.handle(name).call_generation(generation, upstream("tools/call")).await
    }

    pub(crate) fn spawn_call(&self, name: &str) -> JoinHandle<Result<RpcOutcome, UpstreamError>> {
        let handle = self.handle(name);
        tokio::spawn(async move { handle.call(upstream("tools/call")).await })
    }

    pub(crate) async fn end(&self) {
        let begun = Instant::now();
        self.manager.shutdown().await;
        assert!(begun.elapsed() < secs(10), "the shutdown had to use force");
    }
}

pub(crate) fn upstream(method: &'static str) -> UpstreamRequest {
    UpstreamRequest::new(method, RequestParams::none())
}

#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000).plus(self.0.elapsed())
    }
}

struct RecordedEvents {
    lines: watch::Sender<Vec<String>>,
    begun: Instant,
}

impl RecordedEvents {
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
            other => other.as_str().to_owned(),
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

impl EventSink for RecordedEvents {
    fn emit(&self, event: Event) {
        let line = self.line(event);
        self.lines.send_modify(|lines| lines.push(line));
    }
}

/// The servers that can be connected to.
#[derive(Default)]
struct ScriptedConnector(Mutex<HashMap<String, Arc<ServerScript>>>);

impl ScriptedConnector {
    fn script(&self, name: &str) -> Arc<ServerScript> {
        Arc::clone(self.0.lock().entry(name.to_owned()).or_default())
    }
}

impl Connector for ScriptedConnector {
    fn connect(
        &self,
        options: ConnectOptions,
    ) -> BoxFuture<'_, Result<Arc<dyn ServerConnection>, ConnectFailure>> {
        Box::pin(self.script(options.config.id.as_str()).connect(options))
    }
}

/// Behaviour of a server on an attempt to connect.
#[derive(Clone, Default)]
enum ConnectBehavior {
    /// Never responds to the attempt.
    #[default]
    Shut,
    /// Accepts the connection; with `silent` it never responds to a request.
    Opens { silent: bool },
    /// Rejects the connection.
    Refuses(FailureKind),
}

struct ServerScript {
    connect_behavior: watch::Sender<ConnectBehavior>,
    next: Mutex<VecDeque<Result<(), ConnectFailure>>>,
    attempts: watch::Sender<usize>,
    cancelled: AtomicUsize,
    asked: Mutex<HashMap<String, usize>>,
    /// The family of the connection that each call came on.
    calls: Mutex<Vec<ProtocolFamily>>,
    tools: Mutex<serde_json::Value>,
    declared: Mutex<String>,
    protocol_family: Mutex<ProtocolFamily>,
    open: Mutex<(usize, usize)>,
    dropped: AtomicUsize,
    breaks: Mutex<bool>,
    deaf_to: Mutex<Option<&'static str>>,
    list_delay: Mutex<Duration>,
    close_delay: Mutex<Duration>,
    newest: Mutex<Option<(mpsc::Sender<Inbound>, Arc<ConnectionControl>)>>,
}

/// Ends a connection from outside.
struct ConnectionControl {
    end: watch::Sender<Option<ConnectionEnd>>,
    silent: watch::Sender<bool>,
}

impl Default for ServerScript {
    fn default() -> Self {
        Self {
            connect_behavior: watch::Sender::new(ConnectBehavior::Shut),
            next: Mutex::default(),
            attempts: watch::Sender::new(0),
            cancelled: AtomicUsize::new(0),
            asked: Mutex::default(),
            calls: Mutex::default(),
            tools: Mutex::new(lists_of(&["echo"])),
            declared: Mutex::new(r#"{"tools":{"listChanged":true}}"#.to_owned()),
            protocol_family: Mutex::new(ProtocolFamily::Stateful),
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

impl ServerScript {
    async fn connect(
        self: Arc<Self>,
        options: ConnectOptions,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        self.attempts.send_modify(|attempts| *attempts += 1);
        let next = self.next.lock().pop_front();
        match next {
            Some(Err(failure)) => return Err(failure),
            Some(Ok(())) => return Ok(self.connection(options, false)),
            None => {}
        }
        let mut connect_behavior = self.connect_behavior.subscribe();
        let connect_behavior = tokio::select! {
            connect_behavior = connect_behavior.wait_for(|connect_behavior| !matches!(connect_behavior, ConnectBehavior::Shut)) => connect_behavior.unwrap().clone(),
            () = options.cancel.cancelled() => {
                self.cancelled.fetch_add(1, SeqCst);
                return Err(ScriptedServer::error(FailureKind::Unknown));
            }
        };
        match connect_behavior {
            ConnectBehavior::Opens { silent } => Ok(self.connection(options, silent)),
            ConnectBehavior::Refuses(kind) => Err(ScriptedServer::error(kind)),
            ConnectBehavior::Shut => unreachable!(),
        }
    }

    fn connection(self: Arc<Self>, options: ConnectOptions, silent: bool) -> Arc<dyn ServerConnection> {
        {
            let mut open = self.open.lock();
            open.0 += 1;
            open.1 = open.1.max(open.0);
        }
        let ends =
            Arc::new(ConnectionControl { end: watch::Sender::new(None), silent: watch::Sender::new(silent) });
        *self.newest.lock() = Some((options.inbound, Arc::clone(&ends)));
        let handshake = Handshake {
            protocol: "2025-11-25".to_owned(),
            protocol_family: match options.lifecycle {
                LifecycleHint::OnlyInitialize => ProtocolFamily::Stateful,
                _ => *self.protocol_family.lock(),
            },
            info: ServerInfo::default(),
            capabilities: serde_json::from_str(&self.declared.lock()).unwrap(),
            raw_info: None,
            lifecycle: LifecycleHint::Initialize,
        };
        Arc::new(ScriptedConnection { script: self, handshake, ends, closed: Mutex::new(false) })
    }
}

struct ScriptedConnection {
    script: Arc<ServerScript>,
    handshake: Handshake,
    ends: Arc<ConnectionControl>,
    closed: Mutex<bool>,
}

impl ScriptedConnection {
    fn gone(&self) {
        if !std::mem::replace(&mut *self.closed.lock(), true) {
            self.script.open.lock().0 -= 1;
        }
    }

    async fn answer(&self, method: &str) -> Result<RpcOutcome, UpstreamError> {
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
            "tools/call" if breaks => Err(UpstreamError::from(UpstreamErrorKind::Transport {
                failure: FailureKind::TemporaryNetwork,
                message: "broken".into(),
            })),
            "tools/call" => Ok(RpcOutcome::Result(raw_json::raw(&json!({ "content": [] })))),
            "tools/list" => {
                tokio::time::sleep(delay).await;
                Ok(RpcOutcome::Result(raw_json::raw(&tools)))
            }
            "prompts/list" => {
                Ok(RpcOutcome::Result(raw_json::raw(&json!({ "prompts": [{ "name": "ask" }] }))))
            }
            _ => Ok(RpcOutcome::Result(raw_json::empty_object())),
        }
    }
}

impl Drop for ScriptedConnection {
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

impl ServerConnection for ScriptedConnection {
    fn watch(&self, _: std::collections::BTreeSet<String>) {}

    fn set_log_level(&self, _: Option<LogLevel>) {}

    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>> {
        *self.script.asked.lock().entry(request.method.to_string()).or_default() += 1;
        if request.method == "tools/call" {
            self.script.calls.lock().push(self.handshake.protocol_family);
        }
        Box::pin(async move {
            let mut unanswered = Unanswered(&self.script.dropped, request.method != "tools/call");
            let span = limit.silent.or(limit.cap).unwrap();
            let answer = tokio::time::timeout(span, self.answer(&request.method)).await;
            unanswered.1 = true;
            answer.unwrap_or_else(|_| Err(UpstreamErrorKind::TimedOut { after: span }.into()))
        })
    }

    fn closed(&self) -> BoxFuture<'_, ConnectionEnd> {
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

pub(crate) struct ScriptedServer(Arc<ServerScript>);

impl ScriptedServer {
    pub(crate) fn error(kind: FailureKind) -> ConnectFailure {
        ConnectFailure::Error { kind, message: "why".into() }
    }

    pub(crate) fn opens(&self) {
        self.0.connect_behavior.send_replace(ConnectBehavior::Opens { silent: false });
    }

    pub(crate) fn opens_silent(&self) {
        self.0.connect_behavior.send_replace(ConnectBehavior::Opens { silent: true });
    }

    pub(crate) fn refuses_always(&self, kind: FailureKind) {
        self.0.connect_behavior.send_replace(ConnectBehavior::Refuses(kind));
    }

    /// Queues the outcome of the next attempt that has none yet.
    pub(crate) fn answers_next(&self, answer: Result<(), ConnectFailure>) {
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

    pub(crate) fn request_count(&self, method: &str) -> usize {
        self.0.asked.lock().get(method).copied().unwrap_or(0)
    }

    /// The families of the connections that calls came on since the last time.
    pub(crate) fn take_calls(&self) -> Vec<ProtocolFamily> {
        std::mem::take(&mut *self.0.calls.lock())
    }

    pub(crate) fn offers(&self, tools: serde_json::Value) {
        *self.0.tools.lock() = tools;
    }

    pub(crate) fn declares(&self, capabilities: &str) {
        *self.0.declared.lock() = capabilities.to_owned();
    }

    pub(crate) fn speaks(&self, protocol_family: ProtocolFamily) {
        *self.0.protocol_family.lock() = protocol_family;
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
        let end = ConnectionEnd::Closed { kind: FailureKind::TemporaryNetwork, reason: reason.into() };
        self.newest().1.end.send_replace(Some(end));
    }

    fn newest(&self) -> (mpsc::Sender<Inbound>, Arc<ConnectionControl>) {
        self.0.newest.lock().clone().unwrap()
    }
}
