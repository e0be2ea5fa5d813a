//! A gateway on a free port with a scripted [`ToolService`] behind it, one client, and helpers to send its requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_gateway::{ClientRegistry, Gateway, GatewayServices, ToolService};
use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientEntry, ClientId, Event, EventSink, ServerId, SessionId, SystemClock};
use gatehouse_store::{Owner, Store, StoreOptions, memory};
use gatehouse_tools::{
    AccessCall, AccessKind, ByteBudget, ByteLimits, CallResponse, Caller, CatalogList, CatalogVersions,
    ClientPresence, ProtocolFamily, ResolvedTarget, ResourceUpdate, ToolCall,
};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::{Semaphore, broadcast, watch};

/// Time limit of each wait in these tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// How often [`eventually`] checks its condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// One tool call that reached the tool service.
#[derive(Clone, Debug)]
pub(crate) struct RecordedCall {
    pub(crate) client: String,
    pub(crate) session: Option<String>,
    pub(crate) client_info: Option<String>,
    pub(crate) protocol_family: ProtocolFamily,
    pub(crate) arguments: Option<String>,
    pub(crate) rest: Vec<(String, String)>,
    pub(crate) meta: Option<String>,
    pub(crate) has_progress_callback: bool,
    presence: Option<ClientPresence>,
}

impl RecordedCall {
    /// Whether the gateway knows of a connection that waits for the response.
    pub(crate) fn is_client_present(&self) -> bool {
        self.presence.as_ref().is_some_and(ClientPresence::is_present)
    }
}

/// One other access that reached the tool service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedAccess {
    pub(crate) server: String,
    pub(crate) kind: AccessKind,
    pub(crate) target: String,
    pub(crate) exposed: String,
    pub(crate) rest: Vec<(String, String)>,
}

/// Scripted tools. The name of a tool selects what it does.
pub(crate) struct ScriptedToolService {
    pub(crate) tools: Mutex<Vec<Box<RawValue>>>,
    /// Items of the lists other than tools.
    other_items: Mutex<Vec<(CatalogList, Box<RawValue>)>>,
    pub(crate) versions: watch::Sender<CatalogVersions>,
    pub(crate) recorded_calls: Mutex<Vec<RecordedCall>>,
    pub(crate) recorded_accesses: Mutex<Vec<RecordedAccess>>,
    pub(crate) arrived: Semaphore,
    pub(crate) release: Semaphore,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) ended_sessions: Mutex<Vec<String>>,
    pub(crate) revoked_clients: Mutex<Vec<String>>,
    pub(crate) updates: broadcast::Sender<ResourceUpdate>,
    /// Server and target of each released subscription.
    pub(crate) unsubscribed: Mutex<Vec<String>>,
    weak_self: std::sync::Weak<ScriptedToolService>,
}

impl ScriptedToolService {
    fn new() -> Arc<Self> {
        Arc::new_cyclic(|weak_self| Self {
            tools: Mutex::new(vec![raw(
                r#"{"name":"echo","inputSchema":{"type":"object"},"x-kept":12345678901234567890}"#,
            )]),
            other_items: Mutex::default(),
            versions: watch::Sender::new(CatalogVersions { tools: 1, resources: 1, prompts: 1 }),
            recorded_calls: Mutex::default(),
            recorded_accesses: Mutex::default(),
            arrived: Semaphore::new(0),
            release: Semaphore::new(0),
            cancelled: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            ended_sessions: Mutex::default(),
            revoked_clients: Mutex::default(),
            updates: broadcast::Sender::new(16),
            unsubscribed: Mutex::default(),
            weak_self: weak_self.clone(),
        })
    }

    pub(crate) fn set_tools(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(|tool| raw(tool)).collect();
        self.versions.send_modify(|versions| versions.tools += 1);
    }

    pub(crate) fn add(&self, list: CatalogList, item: &str) {
        self.other_items.lock().push((list, raw(item)));
        self.versions.send_modify(|versions| match list {
            CatalogList::Tools => versions.tools += 1,
            CatalogList::Resources | CatalogList::Templates => versions.resources += 1,
            CatalogList::Prompts => versions.prompts += 1,
        });
    }

    async fn run(&self, call: ToolCall) -> CallResponse {
        let arguments = call.arguments.as_deref().map_or("{}", RawValue::get).to_owned();
        let progress = |n: usize| {
            if let Some(out) = &call.progress {
                out(raw(&format!(r#"{{"progress":{n}.0,"message":"step {n}"}}"#)));
            }
        };
        self.arrived.add_permits(1);
        match call.exposed_name.as_str() {
            // Result as given.
            "give" => CallResponse::Result(raw(&arguments)),
            // Error as given.
            "fail" => CallResponse::Error(raw(&arguments)),
            // Waits until released or cancelled.
            "wait" => {
                tokio::select! {
                    permit = self.release.acquire() => permit.unwrap().forget(),
                    () = call.cancel.cancelled() => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        return CallResponse::Error(raw(r#"{"code":-32000,"message":"cancelled"}"#));
                    }
                }
                self.finished.fetch_add(1, Ordering::SeqCst);
                CallResponse::Result(raw(r#"{"content":[],"waited":true}"#))
            }
            // Twenty steps at once, then waits, then twenty more and the result.
            "steps" => {
                (1..=20).for_each(progress);
                self.release.acquire().await.unwrap().forget();
                (21..=40).for_each(progress);
                CallResponse::Result(raw(r#"{"content":[]}"#))
            }
            _ => CallResponse::Result(raw(&format!(r#"{{"content":[],"echo":{arguments}}}"#))),
        }
    }
}

/// Resolves a name or URI of the server `s`, all of which start with `prefix`. The server of a target that ends with
/// `mute` has no completions.
fn resolve(prefix: &str, exposed: &str) -> Option<ResolvedTarget> {
    let target = exposed.strip_prefix(prefix)?.to_owned();
    let has_completions = !target.ends_with("mute");
    Some(ResolvedTarget { server: "s".into(), server_name: "Server".to_owned(), target, has_completions })
}

impl ToolService for ScriptedToolService {
    fn set_log_level(&self, _: Option<LogLevel>) {}

    fn catalog_versions(&self) -> watch::Receiver<CatalogVersions> {
        self.versions.subscribe()
    }

    fn with_list(&self, list: CatalogList, read: &mut dyn FnMut(&[Box<RawValue>])) {
        if list == CatalogList::Tools {
            read(&self.tools.lock());
            return;
        }
        let other_items = self.other_items.lock();
        let items: Vec<Box<RawValue>> =
            other_items.iter().filter(|(of, _)| *of == list).map(|(_, item)| item.clone()).collect();
        read(&items);
    }

    fn resource(&self, uri: &str) -> Option<ResolvedTarget> {
        resolve("x://", uri)
    }

    fn template(&self, uri: &str) -> Option<ResolvedTarget> {
        resolve("x://", uri)
    }

    fn prompt(&self, name: &str) -> Option<ResolvedTarget> {
        resolve("s__", name)
    }

    fn access(&self, _caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse> {
        self.recorded_accesses.lock().push(RecordedAccess {
            server: call.server.to_string(),
            kind: call.kind,
            target: call.target.clone(),
            exposed: call.exposed_name,
            rest: call.rest.iter().map(|(name, value)| (name.to_string(), value.get().to_owned())).collect(),
        });
        let response = match call.target.as_str() {
            "refused" => CallResponse::Error(raw(r#"{"code":-32000,"message":"The user refused."}"#)),
            "missing" => {
                CallResponse::Error(raw(r#"{"code":-32002,"message":"not found","data":{"n":1.0}}"#))
            }
            _ => CallResponse::Result(raw(r#"{"contents":[ ],"x":1e400}"#)),
        };
        Box::pin(std::future::ready(response))
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallResponse> {
        self.recorded_calls.lock().push(RecordedCall {
            client: caller.client.name.clone(),
            session: caller.session.map(|session| session.to_string()),
            client_info: caller.client_info,
            protocol_family: caller.protocol_family,
            arguments: call.arguments.as_deref().map(|raw| raw.get().to_owned()),
            rest: call.rest.iter().map(|(name, value)| (name.to_string(), value.get().to_owned())).collect(),
            meta: call.meta.as_deref().map(|raw| raw.get().to_owned()),
            has_progress_callback: call.progress.is_some(),
            presence: call.presence.clone(),
        });
        let this = self.weak_self.upgrade().unwrap();
        Box::pin(async move { this.run(call).await })
    }

    fn resource_updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.updates.subscribe()
    }

    fn unsubscribe(&self, server: ServerId, target: String) -> BoxFuture<'static, ()> {
        self.unsubscribed.lock().push(format!("{server} {target}"));
        Box::pin(std::future::ready(()))
    }

    fn session_ended(&self, session: &SessionId) {
        self.ended_sessions.lock().push(session.to_string());
    }

    fn client_revoked(&self, client: &ClientId) {
        self.revoked_clients.lock().push(client.to_string());
    }
}

#[derive(Default)]
pub(crate) struct RecordedEvents(pub(crate) Mutex<Vec<Event>>);

impl EventSink for RecordedEvents {
    fn emit(&self, event: Event) {
        self.0.lock().push(event);
    }
}

pub(crate) struct Fixture {
    pub(crate) gateway: Gateway,
    pub(crate) registry: Arc<ClientRegistry>,
    pub(crate) store: Arc<Store>,
    pub(crate) script: Arc<ScriptedToolService>,
    pub(crate) recorded_events: Arc<RecordedEvents>,
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
        Self::with_byte_limits(ByteLimits::default()).await
    }

    /// With other limits for the streams and responses that wait for clients.
    pub(crate) async fn with_byte_limits(limits: ByteLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(&dir, memory());
        let (registry, error) = ClientRegistry::open(Arc::clone(&store), Arc::new(SystemClock));
        assert_eq!(error, None);
        let registry = Arc::new(registry);
        let (entry, token) = registry.add("Agent").await.unwrap();
        let (script, recorded_events) = (ScriptedToolService::new(), Arc::new(RecordedEvents::default()));
        let services = GatewayServices {
            tool_service: Arc::clone(&script) as Arc<dyn ToolService>,
            retained_bytes: ByteBudget::new(limits),
            clients: Arc::clone(&registry),
            events: Arc::clone(&recorded_events) as Arc<dyn EventSink>,
            clock: Arc::new(SystemClock),
        };
        let gateway = Gateway::bind_with("127.0.0.1:0".parse().unwrap(), services).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self {
            gateway,
            registry,
            store,
            script,
            recorded_events,
            entry,
            token: token.reveal().to_owned(),
            http,
            _dir: dir,
        }
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
    pub(crate) fn stateless_request(&self, id: &str, method: &str, params: &str) -> reqwest::RequestBuilder {
        let params = params.strip_prefix('{').unwrap();
        let comma = if params.trim_start().starts_with('}') { "" } else { "," };
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"probe","version":"9"},"progressToken":"tok""#;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{params}}}"#
        );
        self.post(body).header("mcp-protocol-version", "2026-07-28").header("mcp-method", method)
    }

    /// A `tools/call` of the stateless revision.
    pub(crate) fn stateless_call(&self, id: &str, tool: &str, arguments: &str) -> reqwest::RequestBuilder {
        self.stateless_request(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
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

    pub(crate) fn session_request(
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
    pub(crate) fn session_call(
        &self,
        session: &str,
        id: &str,
        tool: &str,
        arguments: &str,
    ) -> reqwest::RequestBuilder {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":77}}}}"#);
        self.session_request(session, id, "tools/call", &params)
    }

    /// The GET stream of a session.
    pub(crate) fn stream(&self, session: &str) -> reqwest::RequestBuilder {
        self.http
            .get(self.url())
            .bearer_auth(&self.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session)
    }

    /// Waits until the gateway has noticed that no connection waits for the only call any more.
    pub(crate) async fn wait_until_client_left(&self) {
        let is_present = || self.script.recorded_calls.lock()[0].is_client_present();
        eventually("the client has left", || !is_present()).await;
    }

    /// Waits until a tool call has reached the tool service.
    pub(crate) async fn wait_for_call(&self) {
        tokio::time::timeout(TEST_TIMEOUT, self.script.arrived.acquire()).await.unwrap().unwrap().forget();
    }
}

/// Waits until a condition holds. Fails with `description` after [`TEST_TIMEOUT`].
pub(crate) async fn eventually(description: &str, condition: impl Fn() -> bool) {
    let poll = async {
        while !condition() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, poll).await.is_ok(), "{description}");
}

/// The body of a JSON response.
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
pub(crate) struct SseReader {
    response: reqwest::Response,
    buffer: String,
    ready: VecDeque<SseEvent>,
}

impl SseReader {
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
            let chunk =
                tokio::time::timeout(TEST_TIMEOUT, self.response.chunk()).await.expect("an event").ok()??;
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
