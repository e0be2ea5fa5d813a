//! A [`ToolService`] whose tools are scripted, and which records what reaches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gatehouse_gateway::ToolService;
use gatehouse_model::server::{Builtin, LogLevel};
use gatehouse_model::{BoxFuture, ClientEntry, ClientId, ServerConfig, ServerId, SessionId, Transport};
use gatehouse_tools::{
    AccessCall, AccessKind, ApprovalWait, CacheHints, CallResponse, Caller, CatalogList, CatalogVersions,
    CatalogViewKey, ClientFeature, ClientPresence, ForwardedNotification, ListVersions, NotificationKind,
    ProtocolFamily, ResolvedTarget, ServerDescription, ServerNotification, ServerRequest, ServerSelection,
    TaskCall, TaskNotice, ToolCall, ToolName, Viewer, error_result,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;

fn raw(text: &str) -> Box<RawValue> {
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
    /// How the call may wait for the user.
    pub(crate) approval_wait: Option<Arc<ApprovalWait>>,
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
    pub(crate) fn new() -> Arc<Self> {
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
            // Needs the user's answer, which comes with a release. Until then the client is told to call again.
            "ask" => {
                if let Ok(permit) = self.release.try_acquire() {
                    permit.forget();
                    return CallResponse::Result(raw(r#"{"content":[{"type":"text","text":"done"}]}"#));
                }
                if let Some(wait) = &call.approval_wait {
                    wait.end();
                }
                CallResponse::Result(error_result("still waiting"))
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
            approval_wait: call.approval_wait.clone(),
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
