//! A gateway on a free port with a scripted [`ToolService`] behind it, one client, and helpers to send its requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_gateway::{
    AllowedHosts, ClientDocuments, ClientRegistry, Gateway, GatewayServices, ToolService,
};
use gatehouse_model::{AskUser, ClientEntry, Clock, Event, EventSink, SystemClock};
use gatehouse_store::{Owner, SecretStore, Store, StoreOptions, memory};
use gatehouse_tools::{ByteBudget, ByteLimits};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;

use crate::access_requests::{ScriptedDocuments, ScriptedUser, ShiftedClock};
use crate::scripted_tools::ScriptedToolService;

/// Time limit of each wait in these tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// How often [`eventually`] checks its condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

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
    pub(crate) user: Arc<ScriptedUser>,
    pub(crate) documents: Arc<ScriptedDocuments>,
    pub(crate) allowed_hosts: Arc<AllowedHosts>,
    pub(crate) clock: Arc<ShiftedClock>,
    pub(crate) entry: ClientEntry,
    pub(crate) token: String,
    pub(crate) http: reqwest::Client,
    secrets: Arc<dyn SecretStore>,
    dir: TempDir,
}

/// What of a [`Fixture`] outlives its gateway: the data folder, the secrets, and what the client knows.
pub(crate) struct StoppedFixture {
    entry: ClientEntry,
    token: String,
    secrets: Arc<dyn SecretStore>,
    dir: TempDir,
}

pub(crate) fn open_store(dir: &TempDir, secrets: Arc<dyn SecretStore>) -> Arc<Store> {
    let options = StoreOptions {
        dir: dir.path().to_path_buf(),
        owner: Owner::Serve,
        secrets,
        clock: Arc::new(SystemClock),
    };
    Arc::new(Store::open(options).unwrap())
}

fn open_registry(store: &Arc<Store>) -> Arc<ClientRegistry> {
    let (registry, error) = ClientRegistry::open(Arc::clone(store), Arc::new(SystemClock));
    assert_eq!(error, None);
    Arc::new(registry)
}

impl StoppedFixture {
    /// Starts the gateway again. Its tools are scripted anew.
    pub(crate) async fn start(self) -> Fixture {
        self.start_with_byte_limits(ByteLimits::default()).await
    }

    async fn start_with_byte_limits(self, limits: ByteLimits) -> Fixture {
        let Self { entry, token, secrets, dir } = self;
        let store = open_store(&dir, Arc::clone(&secrets));
        let clock = Arc::new(ShiftedClock::default());
        let (registry, error) =
            ClientRegistry::open(Arc::clone(&store), Arc::clone(&clock) as Arc<dyn Clock>);
        assert_eq!(error, None);
        let registry = Arc::new(registry);
        let (script, recorded_events) = (ScriptedToolService::new(), Arc::new(RecordedEvents::default()));
        let (user, documents) = (ScriptedUser::new(), Arc::new(ScriptedDocuments::default()));
        let allowed_hosts = Arc::new(AllowedHosts::default());
        let services = GatewayServices {
            tool_service: Arc::clone(&script) as Arc<dyn ToolService>,
            retained_bytes: ByteBudget::new(limits),
            clients: Arc::clone(&registry),
            store: Arc::clone(&store),
            ask: Arc::clone(&user) as Arc<dyn AskUser>,
            client_documents: Arc::clone(&documents) as Arc<dyn ClientDocuments>,
            allowed_hosts: Arc::clone(&allowed_hosts),
            events: Arc::clone(&recorded_events) as Arc<dyn EventSink>,
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
        };
        let gateway = Gateway::bind_with("127.0.0.1:0".parse().unwrap(), services).await.unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Fixture {
            gateway,
            registry,
            store,
            script,
            recorded_events,
            user,
            documents,
            allowed_hosts,
            clock,
            entry,
            token,
            http,
            secrets,
            dir,
        }
    }
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::with_byte_limits(ByteLimits::default()).await
    }

    /// With other limits for the streams and responses that wait for clients.
    pub(crate) async fn with_byte_limits(limits: ByteLimits) -> Self {
        Self::start_with(memory(), limits).await
    }

    /// With another secret store.
    pub(crate) async fn with_secrets(secrets: Arc<dyn SecretStore>) -> Self {
        Self::start_with(secrets, ByteLimits::default()).await
    }

    async fn start_with(secrets: Arc<dyn SecretStore>, limits: ByteLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = open_registry(&open_store(&dir, Arc::clone(&secrets)));
        let (entry, token) = registry.add("Agent").await.unwrap();
        drop(registry);
        let stopped = StoppedFixture { entry, token: token.reveal().to_owned(), secrets, dir };
        stopped.start_with_byte_limits(limits).await
    }

    /// Stops the gateway, as when Gatehouse quits.
    pub(crate) async fn stop(self) -> StoppedFixture {
        let Self { gateway, registry, store, entry, token, secrets, dir, .. } = self;
        gateway.shutdown().await;
        drop((gateway, registry));
        // The data folder can be opened again once nothing uses it.
        eventually("the store is closed", || Arc::strong_count(&store) == 1).await;
        StoppedFixture { entry, token, secrets, dir }
    }

    /// Stops the gateway and starts it again on the same data folder.
    pub(crate) async fn restart(self) -> Self {
        self.stop().await.start().await
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

/// The id that the gateway uses for a session of this run, from the one that its client knows.
pub(crate) fn inner_id(session: &str) -> String {
    session.split('.').next().unwrap().to_owned()
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
    /// `event`, if it is given.
    pub(crate) kind: Option<String>,
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
                let mut event = SseEvent { kind: None, id: None, data: String::new() };
                let mut is_event = false;
                for line in block.lines() {
                    if let Some(id) = line.strip_prefix("id: ") {
                        event.id = Some(id.to_owned());
                    } else if let Some(kind) = line.strip_prefix("event: ") {
                        event.kind = Some(kind.to_owned());
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
