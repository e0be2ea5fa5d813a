//! A gateway on a free port with a scripted door behind it, one client, and the tools to talk to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_gateway::{ClientBook, Gateway, GatewayParts, ToolDoor};
use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientEntry, ClientId, Event, EventSink, ServerId, SessionId, SystemClock};
use gatehouse_store::{Owner, Store, StoreOptions, memory};
use gatehouse_tools::{
    AccessCall, AccessKind, ByteBudget, ByteLimits, CallEnd, Caller, Changes, Era, ListOf, Place, ToolCall,
    Updated,
};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::{Semaphore, broadcast, watch};

/// Nothing in these tests takes longer.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// One call as it came through the door.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) client: String,
    pub(crate) session: Option<String>,
    pub(crate) says: Option<String>,
    pub(crate) era: Era,
    pub(crate) arguments: Option<String>,
    pub(crate) rest: Vec<(String, String)>,
    pub(crate) meta: Option<String>,
    pub(crate) wants_progress: bool,
}

/// One access as it came through the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) server: String,
    pub(crate) kind: AccessKind,
    pub(crate) target: String,
    pub(crate) exposed: String,
    pub(crate) rest: Vec<(String, String)>,
}

/// Scripted tools: the name of the tool says what it does.
pub(crate) struct Script {
    pub(crate) tools: Mutex<Vec<Box<RawValue>>>,
    pub(crate) others: Mutex<Vec<(ListOf, Box<RawValue>)>>,
    pub(crate) revision: watch::Sender<Changes>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) reached: Mutex<Vec<Reached>>,
    pub(crate) arrived: Semaphore,
    pub(crate) release: Semaphore,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) sessions_ended: Mutex<Vec<String>>,
    pub(crate) clients_gone: Mutex<Vec<String>>,
    pub(crate) updates: broadcast::Sender<Updated>,
    pub(crate) unwatched: Mutex<Vec<String>>,
    me: std::sync::Weak<Script>,
}

impl Script {
    fn new() -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            tools: Mutex::new(vec![raw(
                r#"{"name":"echo","inputSchema":{"type":"object"},"x-kept":12345678901234567890}"#,
            )]),
            others: Mutex::default(),
            revision: watch::Sender::new(Changes { tools: 1, resources: 1, prompts: 1 }),
            seen: Mutex::default(),
            reached: Mutex::default(),
            arrived: Semaphore::new(0),
            release: Semaphore::new(0),
            cancelled: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            sessions_ended: Mutex::default(),
            clients_gone: Mutex::default(),
            updates: broadcast::Sender::new(16),
            unwatched: Mutex::default(),
            me: me.clone(),
        })
    }

    pub(crate) fn set_tools(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(|tool| raw(tool)).collect();
        self.revision.send_modify(|revision| revision.tools += 1);
    }

    pub(crate) fn add(&self, list: ListOf, item: &str) {
        self.others.lock().push((list, raw(item)));
        self.revision.send_modify(|revision| match list {
            ListOf::Tools => revision.tools += 1,
            ListOf::Resources | ListOf::Templates => revision.resources += 1,
            ListOf::Prompts => revision.prompts += 1,
        });
    }

    async fn run(&self, call: ToolCall) -> CallEnd {
        let arguments = call.arguments.as_deref().map_or("{}", RawValue::get).to_owned();
        let progress = |n: usize| {
            if let Some(out) = &call.progress {
                out(raw(&format!(r#"{{"progress":{n}.0,"message":"step {n}"}}"#)));
            }
        };
        self.arrived.add_permits(1);
        match call.exposed_name.as_str() {
            // Result as given.
            "give" => CallEnd::Result(raw(&arguments)),
            // Error as given.
            "fail" => CallEnd::Error(raw(&arguments)),
            // Waits until released or cancelled.
            "wait" => {
                tokio::select! {
                    permit = self.release.acquire() => permit.unwrap().forget(),
                    () = call.cancel.cancelled() => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        return CallEnd::Error(raw(r#"{"code":-32000,"message":"cancelled"}"#));
                    }
                }
                self.finished.fetch_add(1, Ordering::SeqCst);
                CallEnd::Result(raw(r#"{"content":[],"waited":true}"#))
            }
            // Twenty steps at once, then waits, then twenty more and the result.
            "steps" => {
                (1..=20).for_each(progress);
                self.release.acquire().await.unwrap().forget();
                (21..=40).for_each(progress);
                CallEnd::Result(raw(r#"{"content":[]}"#))
            }
            _ => CallEnd::Result(raw(&format!(r#"{{"content":[],"echo":{arguments}}}"#))),
        }
    }
}

/// Everything of the server `s` begins with the same text; a target that ends with `mute` is of a server that
/// completes nothing.
fn place(begins: &str, exposed: &str) -> Option<Place> {
    let target = exposed.strip_prefix(begins)?.to_owned();
    let completes = !target.ends_with("mute");
    Some(Place { server: "s".into(), server_name: "Server".to_owned(), target, completes })
}

impl ToolDoor for Script {
    fn set_log_level(&self, _: Option<LogLevel>) {}

    fn changes(&self) -> watch::Receiver<Changes> {
        self.revision.subscribe()
    }

    fn with_list(&self, list: ListOf, read: &mut dyn FnMut(&[Box<RawValue>])) {
        if list == ListOf::Tools {
            read(&self.tools.lock());
            return;
        }
        let others = self.others.lock();
        let items: Vec<Box<RawValue>> =
            others.iter().filter(|(of, _)| *of == list).map(|(_, item)| item.clone()).collect();
        read(&items);
    }

    fn resource(&self, uri: &str) -> Option<Place> {
        place("x://", uri)
    }

    fn template(&self, uri: &str) -> Option<Place> {
        place("x://", uri)
    }

    fn prompt(&self, name: &str) -> Option<Place> {
        place("s__", name)
    }

    fn access(&self, _caller: Caller, call: AccessCall) -> BoxFuture<'static, CallEnd> {
        self.reached.lock().push(Reached {
            server: call.server.to_string(),
            kind: call.kind,
            target: call.target.clone(),
            exposed: call.exposed_name,
            rest: call.rest.iter().map(|(name, value)| (name.to_string(), value.get().to_owned())).collect(),
        });
        let end = match call.target.as_str() {
            "refused" => CallEnd::Error(raw(r#"{"code":-32000,"message":"The user refused."}"#)),
            "missing" => CallEnd::Error(raw(r#"{"code":-32002,"message":"not found","data":{"n":1.0}}"#)),
            _ => CallEnd::Result(raw(r#"{"contents":[ ],"x":1e400}"#)),
        };
        Box::pin(std::future::ready(end))
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallEnd> {
        self.seen.lock().push(Seen {
            client: caller.client.name.clone(),
            session: caller.session.map(|session| session.to_string()),
            says: caller.says,
            era: caller.era,
            arguments: call.arguments.as_deref().map(|raw| raw.get().to_owned()),
            rest: call.rest.iter().map(|(name, value)| (name.to_string(), value.get().to_owned())).collect(),
            meta: call.meta.as_deref().map(|raw| raw.get().to_owned()),
            wants_progress: call.progress.is_some(),
        });
        let me = self.me.upgrade().unwrap();
        Box::pin(async move { me.run(call).await })
    }

    fn updates(&self) -> broadcast::Receiver<Updated> {
        self.updates.subscribe()
    }

    fn unwatch(&self, server: ServerId, target: String) -> BoxFuture<'static, ()> {
        self.unwatched.lock().push(format!("{server} {target}"));
        Box::pin(std::future::ready(()))
    }

    fn session_ended(&self, session: &SessionId) {
        self.sessions_ended.lock().push(session.to_string());
    }

    fn client_gone(&self, client: &ClientId) {
        self.clients_gone.lock().push(client.to_string());
    }
}

/// Keeps the events.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Mutex<Vec<Event>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        self.0.lock().push(event);
    }
}

pub(crate) struct Fixture {
    pub(crate) gateway: Gateway,
    pub(crate) book: Arc<ClientBook>,
    pub(crate) store: Arc<Store>,
    pub(crate) script: Arc<Script>,
    pub(crate) heard: Arc<Heard>,
    pub(crate) entry: ClientEntry,
    pub(crate) token: String,
    pub(crate) http: reqwest::Client,
    _dir: TempDir,
}

pub(crate) fn open_store(dir: &TempDir, secrets: Arc<dyn gatehouse_store::SecretStore>) -> Arc<Store> {
    let options = StoreOptions {
        dir: dir.path().to_path_buf(),
        owner: Owner::Serve,
        secrets,
        clock: Arc::new(SystemClock),
    };
    Arc::new(Store::open(options).unwrap())
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::keeping(ByteLimits::default()).await
    }

    /// With other limits for what is kept for clients.
    pub(crate) async fn keeping(limits: ByteLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(&dir, memory());
        let (book, problem) = ClientBook::open(Arc::clone(&store), Arc::new(SystemClock));
        assert_eq!(problem, None);
        let book = Arc::new(book);
        let (entry, token) = book.add("Agent").await.unwrap();
        let (script, heard) = (Script::new(), Arc::new(Heard::default()));
        let parts = GatewayParts {
            door: Arc::clone(&script) as Arc<dyn ToolDoor>,
            kept_bytes: ByteBudget::new(limits),
            clients: Arc::clone(&book),
            events: Arc::clone(&heard) as Arc<dyn EventSink>,
            clock: Arc::new(SystemClock),
        };
        let gateway = Gateway::bind_parts("127.0.0.1:0".parse().unwrap(), parts).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self { gateway, book, store, script, heard, entry, token: token.reveal().to_owned(), http, _dir: dir }
    }

    pub(crate) fn url(&self) -> String {
        self.gateway.endpoint()
    }

    pub(crate) fn port(&self) -> u16 {
        self.url().rsplit_once(':').unwrap().1.trim_end_matches("/mcp").parse().unwrap()
    }

    /// A POST as a client sends it, with its token.
    pub(crate) fn post(&self, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        self.http
            .post(self.url())
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body)
    }

    /// A request of the stateless revision, with everything that it needs.
    pub(crate) fn modern(&self, id: &str, method: &str, params: &str) -> reqwest::RequestBuilder {
        let params = params.strip_prefix('{').unwrap();
        let comma = if params.trim_start().starts_with('}') { "" } else { "," };
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"probe","version":"9"},"progressToken":"tok""#;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{params}}}"#
        );
        self.post(body).header("mcp-protocol-version", "2026-07-28").header("mcp-method", method)
    }

    /// A `tools/call` of the stateless revision.
    pub(crate) fn modern_call(&self, id: &str, tool: &str, arguments: &str) -> reqwest::RequestBuilder {
        self.modern(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
            .header("mcp-name", tool)
    }

    /// Opens a session and returns its id.
    pub(crate) async fn session(&self, version: &str) -> String {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"old","version":"1"}}}}}}"#
        );
        let response = self.post(body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let done = self
            .post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .header("mcp-session-id", &id)
            .send()
            .await
            .unwrap();
        assert_eq!(done.status(), 202);
        id
    }

    /// A request in a session.
    pub(crate) fn classic(
        &self,
        session: &str,
        id: &str,
        method: &str,
        params: &str,
    ) -> reqwest::RequestBuilder {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        self.post(body).header("mcp-session-id", session)
    }

    /// A `tools/call` in a session.
    pub(crate) fn classic_call(
        &self,
        session: &str,
        id: &str,
        tool: &str,
        arguments: &str,
    ) -> reqwest::RequestBuilder {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":77}}}}"#);
        self.classic(session, id, "tools/call", &params)
    }

    /// The GET stream of a session.
    pub(crate) fn stream(&self, session: &str) -> reqwest::RequestBuilder {
        self.http
            .get(self.url())
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
    }

    /// Waits until a call has come through the door.
    pub(crate) async fn call_arrived(&self) {
        tokio::time::timeout(SOON, self.script.arrived.acquire()).await.unwrap().unwrap().forget();
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, wait).await.is_ok(), "{what}");
}

/// The body of a JSON answer.
pub(crate) async fn text(response: reqwest::Response) -> String {
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(response.headers().contains_key("content-length"));
    response.text().await.unwrap()
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl SseEvent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// Reads a stream event by event.
pub(crate) struct Sse {
    response: reqwest::Response,
    buffer: String,
    ready: VecDeque<SseEvent>,
}

impl Sse {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, buffer: String::new(), ready: VecDeque::new() }
    }

    /// The next event, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let chunk = tokio::time::timeout(SOON, self.response.chunk()).await.expect("an event").ok()??;
            self.buffer.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some(end) = self.buffer.find("\n\n") {
                let block: String = self.buffer.drain(..end + 2).collect();
                let mut event = SseEvent { id: None, data: String::new() };
                let mut is_event = false;
                for line in block.lines() {
                    if let Some(id) = line.strip_prefix("id: ") {
                        event.id = Some(id.to_owned());
                    } else if let Some(data) = line.strip_prefix("data: ") {
                        event.data.push_str(data);
                        is_event = true;
                    }
                }
                if is_event {
                    self.ready.push_back(event);
                }
            }
        }
    }

    /// Everything up to the end.
    pub(crate) async fn all(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// Sends a request from a client that takes nothing but JSON.
pub(crate) async fn send_json_only(request: reqwest::RequestBuilder) -> reqwest::Result<reqwest::Response> {
    let (client, request) = request.build_split();
    let mut request = request?;
    request.headers_mut().insert("accept", reqwest::header::HeaderValue::from_static("application/json"));
    client.execute(request).await
}
