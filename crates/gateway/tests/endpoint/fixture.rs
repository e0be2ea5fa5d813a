//! A gateway on a free port with a scripted [`ToolService`] behind it, one client, and helpers to send its requests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_gateway::{
    AllowedHosts, ClientDocuments, ClientRegistry, Gateway, GatewayServices, ToolService,
};
use gatehouse_model::server::{Builtin, LogLevel};
use gatehouse_model::{
    AskUser, BoxFuture, ClientEntry, ClientId, Clock, Event, EventSink, ServerConfig, ServerId, SessionId,
    SystemClock, Transport,
};
use gatehouse_store::{Owner, SecretStore, Store, StoreOptions, memory};
use gatehouse_tools::{
    AccessCall, AccessKind, ByteBudget, ByteLimits, CacheHints, CallResponse, Caller, CatalogList,
    CatalogVersions, CatalogViewKey, ClientFeature, ClientPresence, ForwardedNotification, ListVersions,
    NotificationKind, ProtocolFamily, ResolvedTarget, ServerDescription, ServerNotification, ServerRequest,
    ServerSelection, TaskCall, TaskNotice, ToolCall, ToolName, Viewer,
};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::access_requests::{ScriptedDocuments, ScriptedUser, ShiftedClock};

/// Time limit of each wait in these tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// How often [`eventually`] checks its condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// The versions of all lists and of those of the server `s`.
fn versions() -> ListVersions {
    let first = CatalogVersions { tools: 1, resources: 1, prompts: 1, marks: 1 };
    ListVersions { all: first, by_server: [("s".into(), first)].into() }
}

/// How a server named `own server` describes itself.
pub(crate) fn description(capabilities: &str) -> ServerDescription {
    ServerDescription {
        server: "s".into(),
        name: "own server".to_owned(),
        capabilities: raw(capabilities),
        server_info: Some(raw(r#"{"name":"its own","version":"1","x-kept":1.0}"#)),
        instructions: Some("Be kind.".to_owned()),
        has_tasks: false,
        has_tasks_extension: false,
    }
}

/// Members as texts.
fn texts(members: &[(Box<str>, Box<RawValue>)]) -> Vec<(String, String)> {
    members.iter().map(|(name, value)| (name.to_string(), value.get().to_owned())).collect()
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
    pub(crate) tool: ToolName,
    /// Whether the client declared that it can respond to forms.
    pub(crate) can_answer_forms: bool,
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
    pub(crate) ref_members: Vec<(String, String)>,
    pub(crate) rest: Vec<(String, String)>,
}

/// Scripted tools. The name of a tool selects what it does.
pub(crate) struct ScriptedToolService {
    pub(crate) tools: Mutex<Vec<Box<RawValue>>>,
    /// Items of the lists other than tools.
    other_items: Mutex<Vec<(CatalogList, Box<RawValue>)>>,
    pub(crate) versions: watch::Sender<ListVersions>,
    /// How the server `s` describes itself, and whether it is there.
    pub(crate) description: Mutex<Option<ServerDescription>>,
    pub(crate) recorded_calls: Mutex<Vec<RecordedCall>>,
    pub(crate) recorded_accesses: Mutex<Vec<RecordedAccess>>,
    pub(crate) arrived: Semaphore,
    pub(crate) release: Semaphore,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) cancel_reasons: Mutex<Vec<Option<String>>>,
    pub(crate) finished: AtomicUsize,
    pub(crate) ended_sessions: Mutex<Vec<String>>,
    /// Names of the clients that were added by OAuth.
    pub(crate) added_clients: Mutex<Vec<String>>,
    pub(crate) revoked_clients: Mutex<Vec<String>>,
    pub(crate) notifications: broadcast::Sender<ServerNotification>,
    /// Whether no server has a resource yet.
    pub(crate) hides_resources: AtomicBool,
    pub(crate) view_changes: watch::Sender<u64>,
    /// Whether clients see no server any more.
    pub(crate) hides_servers: AtomicBool,
    /// Server and target of each released subscription.
    pub(crate) unsubscribed: Mutex<Vec<String>>,
    /// The most verbose log level of all clients.
    pub(crate) log_level: Mutex<Option<LogLevel>>,
    weak_self: std::sync::Weak<ScriptedToolService>,
}

impl ScriptedToolService {
    fn new() -> Arc<Self> {
        Arc::new_cyclic(|weak_self| Self {
            tools: Mutex::new(vec![raw(
                r#"{"name":"echo","inputSchema":{"type":"object"},"x-kept":12345678901234567890}"#,
            )]),
            other_items: Mutex::default(),
            versions: watch::Sender::new(versions()),
            description: Mutex::new(Some(description(r#"{"tools":{},"completions":{},"logging":{}}"#))),
            recorded_calls: Mutex::default(),
            recorded_accesses: Mutex::default(),
            arrived: Semaphore::new(0),
            release: Semaphore::new(0),
            cancelled: AtomicUsize::new(0),
            cancel_reasons: Mutex::default(),
            finished: AtomicUsize::new(0),
            ended_sessions: Mutex::default(),
            added_clients: Mutex::default(),
            revoked_clients: Mutex::default(),
            notifications: broadcast::Sender::new(16),
            hides_resources: AtomicBool::new(false),
            view_changes: watch::Sender::default(),
            hides_servers: AtomicBool::new(false),
            unsubscribed: Mutex::default(),
            log_level: Mutex::default(),
            weak_self: weak_self.clone(),
        })
    }

    pub(crate) fn set_tools(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(|tool| raw(tool)).collect();
        self.versions.send_modify(|versions| versions.all.tools += 1);
    }

    pub(crate) fn add(&self, list: CatalogList, item: &str) {
        self.other_items.lock().push((list, raw(item)));
        self.versions.send_modify(|versions| match list {
            CatalogList::Tools => versions.all.tools += 1,
            CatalogList::Resources | CatalogList::Templates => versions.all.resources += 1,
            CatalogList::Prompts => versions.all.prompts += 1,
        });
    }

    /// Sends a notification of the server `s`.
    pub(crate) fn notify(&self, kind: NotificationKind, params: &str) {
        let notification = ForwardedNotification { kind, params: params.into() };
        self.notifications.send(ServerNotification { server: "s".into(), notification }).unwrap();
    }

    async fn run(&self, call: ToolCall) -> CallResponse {
        let arguments = call.arguments.as_deref().map_or("{}", RawValue::get).to_owned();
        let progress = |n: usize| {
            if let Some(out) = &call.progress {
                out(raw(&format!(r#"{{"progress":{n}.0,"message":"step {n}"}}"#)));
            }
        };
        self.arrived.add_permits(1);
        match call.tool.as_str() {
            // Result as given.
            "give" => CallResponse::Result(raw(&arguments)),
            // Error as given.
            "fail" => CallResponse::Error(raw(&arguments)),
            // Waits until released or cancelled.
            "wait" => {
                tokio::select! {
                    permit = self.release.acquire() => permit.unwrap().forget(),
                    () = call.cancel.cancelled() => {
                        self.cancel_reasons.lock().push(call.cancel_reason.get().map(str::to_owned));
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        return CallResponse::Error(raw(r#"{"code":-32000,"message":"cancelled"}"#));
                    }
                }
                self.finished.fetch_add(1, Ordering::SeqCst);
                CallResponse::Result(raw(r#"{"content":[],"waited":true}"#))
            }
            // Asks the client for a form, and returns its response.
            "form" => {
                let Some(peer) = &call.client_peer else { return CallResponse::Error(raw("{}")) };
                let transport = Transport::Builtin { builtin: Builtin::Time };
                let request = ServerRequest {
                    server: Arc::new(ServerConfig::new("s", "Server", transport)),
                    method: "elicitation/create".into(),
                    params: raw(r#"{"message":"?","requestedSchema":{"type":"object"}}"#),
                    key: None,
                };
                let response = peer.ask(request).await.unwrap_or_else(|error| error);
                CallResponse::Result(raw(&format!(r#"{{"content":[],"response":{response}}}"#)))
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

/// Resolves a name or URI of the server `s`, all of which start with `prefix` where all servers are served. The server of a target that ends with
/// `mute` has no completions.
fn resolve(servers: &ServerSelection, prefix: &str, exposed: &str) -> Option<ResolvedTarget> {
    let target = match servers {
        ServerSelection::All => exposed.strip_prefix(prefix)?.to_owned(),
        ServerSelection::One(_) => exposed.to_owned(),
    };
    let has_completions = !target.ends_with("mute");
    Some(ResolvedTarget { server: "s".into(), server_name: "Server".to_owned(), target, has_completions })
}

impl ToolService for ScriptedToolService {
    fn set_log_level(&self, level: Option<LogLevel>) {
        *self.log_level.lock() = level;
    }

    fn server_named(&self, _viewer: &Viewer, name: &str) -> Option<ServerId> {
        let description = self.description.lock();
        description.as_ref().filter(|description| description.name == name).map(|_| "s".into())
    }

    fn await_first_lists(&self, _: ServerId, _: CancellationToken) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn descriptions(&self, _: &Viewer, _: &ServerSelection) -> Vec<ServerDescription> {
        self.description.lock().iter().cloned().collect()
    }

    fn catalog_versions(&self) -> watch::Receiver<ListVersions> {
        self.versions.subscribe()
    }

    fn view_key(&self, _viewer: &Viewer) -> CatalogViewKey {
        CatalogViewKey::default()
    }

    fn view_changes(&self) -> watch::Receiver<u64> {
        self.view_changes.subscribe()
    }

    fn has_project_folders(&self) -> bool {
        false
    }

    fn sees_server(&self, _viewer: &Viewer, _server: &ServerId) -> bool {
        !self.hides_servers.load(Ordering::SeqCst)
    }

    fn with_list(
        &self,
        _viewer: &Viewer,
        servers: &ServerSelection,
        list: CatalogList,
        read: &mut dyn FnMut(&[&RawValue]),
    ) {
        if let ServerSelection::One(server) = servers {
            read(&[&raw(&format!(r#"{{"name":"own {list:?} of {server}"}}"#))]);
            return;
        }
        let (tools, other_items) = (self.tools.lock(), self.other_items.lock());
        let others = other_items.iter().filter(|(of, _)| *of == list).map(|(_, item)| item);
        let items: Vec<&RawValue> = match list {
            CatalogList::Tools => tools.iter().map(|item| &**item).collect(),
            CatalogList::Resources | CatalogList::Templates | CatalogList::Prompts => {
                others.map(|item| &**item).collect()
            }
        };
        read(&items);
    }

    fn cache_hints(
        &self,
        _viewer: &Viewer,
        servers: &ServerSelection,
        _list: CatalogList,
    ) -> Vec<Option<CacheHints>> {
        let hints = |ttl_ms| Some(CacheHints { ttl_ms, scope: "public".to_owned() });
        match servers {
            ServerSelection::All => vec![None, hints(60_000)],
            ServerSelection::One(_) => vec![hints(0)],
        }
    }

    fn with_task_tools(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        read: &mut dyn FnMut(&[&RawValue]),
    ) {
        self.with_list(viewer, servers, CatalogList::Tools, read);
    }

    fn resource(&self, _viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        resolve(servers, "x://", uri).filter(|_| !self.hides_resources.load(Ordering::SeqCst))
    }

    fn template(&self, _viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        resolve(servers, "x://", uri)
    }

    fn prompt(&self, _viewer: &Viewer, servers: &ServerSelection, name: &str) -> Option<ResolvedTarget> {
        resolve(servers, "s__", name)
    }

    fn access(&self, _caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse> {
        self.recorded_accesses.lock().push(RecordedAccess {
            server: call.server.to_string(),
            kind: call.kind,
            target: call.target.clone(),
            exposed: call.exposed_name,
            ref_members: texts(&call.ref_members),
            rest: texts(&call.rest),
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
            tool: call.tool.clone(),
            can_answer_forms: call.client_peer.as_ref().is_some_and(|peer| peer.can(ClientFeature::Form)),
            presence: call.presence.clone(),
        });
        let this = self.weak_self.upgrade().unwrap();
        Box::pin(async move { this.run(call).await })
    }

    fn task_call(&self, caller: Caller, call: TaskCall) -> BoxFuture<'static, CallResponse> {
        let request = serde_json::Value::from(format!("{:?}", call.request));
        let response = raw(&format!(r#"{{"client":"{}","request":{request}}}"#, caller.client.name));
        Box::pin(std::future::ready(CallResponse::Result(response)))
    }

    fn task_notice(&self, _server: &ServerId, _task: &str, _params: &RawValue) -> Option<TaskNotice> {
        None
    }

    fn notifications(&self) -> broadcast::Receiver<ServerNotification> {
        self.notifications.subscribe()
    }

    fn unsubscribe(&self, server: ServerId, target: String) -> BoxFuture<'static, ()> {
        self.unsubscribed.lock().push(format!("{server} {target}"));
        Box::pin(std::future::ready(()))
    }

    fn session_ended(&self, session: &SessionId) {
        self.ended_sessions.lock().push(session.to_string());
    }

    fn client_added(&self, client: &ClientEntry) {
        self.added_clients.lock().push(client.name.clone());
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
