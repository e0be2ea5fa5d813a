//! The store, servers and tools of one test, in a folder of its own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_auth::NoSignIn;
use gatehouse_common::messages::{Language, render};
use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, PeerProcess, Program};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, CallApprovalRequest, ClientEntry, Clock, Event, EventSink, Generation,
    GrantChoice, Message, OfferedChoice, PendingApproval, Secret, ServerConfig, SubmittedAnswer, Timestamp,
    Transport, UserError,
};
use gatehouse_servers::{ServerDeps, ServerManager};
use gatehouse_store::{
    Owner, SecretError, SecretKey, SecretStore, SecretStoreKind, Store, StoreError, StoreOptions,
};
use gatehouse_tools::{
    ApprovalLimits, CallResponse, Caller, PathResolver, Peer, PeerId, ProgressCallback, ProtocolFamily,
    SystemPaths, ToolCall, ToolDeps, ToolManager,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Wall-clock time that runs with the runtime's, paused or not.
#[derive(Debug)]
pub struct RuntimeClock(tokio::time::Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_800_000_000_000).plus(self.0.elapsed())
    }
}

type Hook = Arc<dyn Fn(&Event) + Send + Sync>;

#[derive(Default)]
pub struct RecordedEvents {
    events: Mutex<Vec<Event>>,
    hook: Mutex<Option<Hook>>,
}

impl EventSink for RecordedEvents {
    fn emit(&self, event: Event) {
        let hook = self.hook.lock().clone();
        if let Some(hook) = hook {
            hook(&event);
        }
        self.events.lock().push(event);
    }
}

impl RecordedEvents {
    pub fn count(&self, which: impl Fn(&Event) -> bool) -> usize {
        self.events.lock().iter().filter(|event| which(event)).count()
    }

    /// Runs a callback while an event is emitted.
    pub fn on_event(&self, hook: impl Fn(&Event) + Send + Sync + 'static) {
        *self.hook.lock() = Some(Arc::new(hook));
    }
}

/// Repeats an attempt until it returns something; fails after about 20 s of the runtime's time.
pub async fn eventually<T, F: Future<Output = Option<T>>>(mut attempt: impl FnMut() -> F) -> T {
    for _ in 0..20_000 {
        if let Some(value) = attempt().await {
            return value;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the condition did not become true in time");
}

pub struct ToolsHarness {
    pub tools: ToolManager,
    pub servers: ServerManager,
    pub store: Arc<Store>,
    pub events: Arc<RecordedEvents>,
    pub secrets: Arc<dyn SecretStore>,
    pub dir: Arc<tempfile::TempDir>,
}

impl ToolsHarness {
    pub async fn new() -> Self {
        Self::with(ApprovalLimits::default()).await
    }

    pub async fn with(approval_limits: ApprovalLimits) -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), gatehouse_store::memory(), approval_limits).await
    }

    pub async fn on(
        dir: Arc<tempfile::TempDir>,
        secrets: Arc<dyn SecretStore>,
        approval_limits: ApprovalLimits,
    ) -> Self {
        Self::built(dir, secrets, approval_limits, Arc::new(SystemPaths)).await
    }

    /// On file systems of the test's own.
    pub async fn with_paths(paths: Arc<dyn PathResolver>) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Self::built(dir, gatehouse_store::memory(), ApprovalLimits::default(), paths).await
    }

    async fn built(
        dir: Arc<tempfile::TempDir>,
        secrets: Arc<dyn SecretStore>,
        approval_limits: ApprovalLimits,
        paths: Arc<dyn PathResolver>,
    ) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(RuntimeClock(tokio::time::Instant::now()));
        let events = Arc::new(RecordedEvents::default());
        let options = StoreOptions {
            dir: dir.path().to_owned(),
            owner: Owner::Serve,
            secrets: secrets.clone(),
            clock: clock.clone(),
        };
        // A child that another test is just starting may hold the folder's lock for a moment.
        let mut tries = 0;
        let store = loop {
            match Store::open(options.clone()) {
                Err(StoreError::DataFolderInUse { .. }) if tries < 5_000 => {
                    std::thread::sleep(Duration::from_millis(1))
                }
                opened => break Arc::new(opened.unwrap()),
            }
            tries += 1;
        };
        let servers = ServerManager::new(ServerDeps {
            secrets: secrets.clone(),
            tokens: Arc::new(NoSignIn),
            events: events.clone(),
            clock: clock.clone(),
            data_dir: dir.path().to_owned(),
            policy: gatehouse_servers::PolicyFile::at(dir.path().join("policy.json")),
            guard_program: None,
        });
        let tools = ToolManager::start(ToolDeps {
            servers: servers.clone(),
            store: store.clone(),
            events: events.clone(),
            clock,
            approval_limits,
            paths,
        })
        .await
        .unwrap();
        Self { tools, servers, store, events, secrets, dir }
    }

    /// Ends everything and begins anew on the same folder.
    pub async fn restart(self, secrets: Arc<dyn SecretStore>) -> Self {
        let Self { tools, servers, store, dir, .. } = self;
        tools.shutdown().await;
        servers.shutdown().await;
        store.close();
        drop((tools, servers, store));
        Self::on(dir, secrets, ApprovalLimits::default()).await
    }

    /// Adds a server and waits until its tools are known.
    pub async fn start_server(&self, config: ServerConfig) {
        let id = config.id.clone();
        self.servers.put(config).await.unwrap();
        self.servers.start(&id).await.unwrap();
        self.wait_until(|harness| harness.tools.catalog().of_server(&id).next().is_some()).await;
    }

    pub async fn start_notes_server(&self) {
        self.start_server(builtin("notes", Builtin::Notes)).await;
    }

    /// Waits until the condition holds.
    pub async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        eventually(|| std::future::ready(holds(self).then_some(()))).await;
    }

    /// Waits until this many calls have started and nothing more happens without an answer. Only for a paused
    /// clock, which goes on when every task waits and no blocking task runs.
    pub async fn wait_for_calls(&self, count: usize) {
        let started = |event: &Event| matches!(event, Event::CallStarted { .. });
        self.wait_until(|harness| harness.events.count(started) == count).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Waits until this many approval requests are pending.
    pub async fn approvals(&self, count: usize) -> Vec<PendingApproval> {
        self.wait_until(|harness| harness.tools.approvals().pending().len() == count).await;
        self.tools.approvals().pending()
    }

    pub async fn approval(&self) -> PendingApproval {
        self.approvals(1).await.remove(0)
    }

    pub async fn answer(&self, approval: &PendingApproval, answer: ApprovalAnswer) -> Result<(), UserError> {
        self.tools.approvals().answer(vec![answer_to(approval, answer)], "test").await
    }

    pub async fn allow(&self, approval: &PendingApproval) {
        self.answer(approval, once()).await.unwrap();
    }

    /// A call that must end without an answer.
    pub async fn call(&self, tool: &str, arguments: &str) -> Value {
        tokio::time::timeout(
            Duration::from_secs(3600),
            self.tools.call(caller("Claude"), call(tool, arguments)),
        )
        .await
        .map(value)
        .unwrap()
    }

    pub fn spawn_call(&self, tool: &str, arguments: &str) -> SpawnedCall {
        self.spawn_call_as(caller("Claude"), call(tool, arguments))
    }

    pub fn spawn_call_as(&self, caller: Caller, call: ToolCall) -> SpawnedCall {
        let cancel = call.cancel.clone();
        let tools = self.tools.clone();
        SpawnedCall { end: tokio::spawn(async move { value(tools.call(caller, call).await) }), cancel }
    }

    /// Whether a call passes unasked. One that asks is put away again.
    pub async fn is_allowed(&self, tool: &str, arguments: &str) -> bool {
        let before = self.tools.approvals().pending().len();
        let mut running = self.spawn_call(tool, arguments);
        tokio::select! {
            biased;
            end = &mut running.end => !is_error(&end.unwrap()),
            () = self.wait_until(|harness| harness.tools.approvals().pending().len() > before) => {
                let asked = self.tools.approvals().pending().pop().unwrap();
                self.answer(&asked, deny_once(None)).await.unwrap();
                assert!(is_error(&running.end.await.unwrap()));
                false
            }
        }
    }

    /// How many notes there are.
    pub async fn note_count(&self) -> usize {
        let end = value(self.tools.call_for_user(&Default::default(), call("list_notes", "{}")).await);
        text(&end).split("\n\n").filter(|line| line.contains(": ")).count()
    }

    pub fn audit(&self, which: impl Fn(&AuditEvent) -> bool) -> usize {
        self.store.audit().list(None, 10_000).unwrap().iter().filter(|entry| which(&entry.event)).count()
    }
}

/// A keychain that can be locked.
#[derive(Default)]
pub struct Keychain {
    locked: AtomicBool,
    kept: Mutex<HashMap<String, Secret>>,
}

impl Keychain {
    pub fn lock(&self, locked: bool) {
        self.locked.store(locked, Ordering::SeqCst);
    }

    fn open(&self) -> Result<(), SecretError> {
        if self.locked.load(Ordering::SeqCst) { Err(SecretError::Locked) } else { Ok(()) }
    }
}

impl SecretStore for Keychain {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.open()?;
        Ok(self.kept.lock().get(key.account()).cloned())
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        self.open()?;
        self.kept.lock().insert(key.account().to_owned(), secret.clone());
        Ok(())
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.open()?;
        self.kept.lock().remove(key.account());
        Ok(())
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Keychain
    }
}

pub struct SpawnedCall {
    pub end: JoinHandle<Value>,
    pub cancel: CancellationToken,
}

impl SpawnedCall {
    pub async fn result(self) -> Value {
        tokio::time::timeout(Duration::from_secs(7200), self.end).await.unwrap().unwrap()
    }
}

pub fn value(end: CallResponse) -> Value {
    match end {
        CallResponse::Result(raw) => serde_json::from_str(raw.get()).unwrap(),
        CallResponse::Error(raw) => json!({ "error": serde_json::from_str::<Value>(raw.get()).unwrap() }),
    }
}

pub fn is_error(end: &Value) -> bool {
    end["isError"] == true
}

pub fn text(end: &Value) -> &str {
    end["content"][0]["text"].as_str().unwrap_or_default()
}

pub fn caller(name: &str) -> Caller {
    Caller {
        client: Arc::new(ClientEntry {
            id: name.into(),
            name: name.to_owned(),
            token_sha256: String::new(),
            created: Timestamp(0),
            access: gatehouse_model::ClientAccess::Token,
        }),
        narrowing: Default::default(),
        session: None,
        client_info: Some("test 1.0".to_owned()),
        peer: peer("/usr/bin/test"),
        protocol_family: ProtocolFamily::Stateless,
        user_run: None,
    }
}

/// A process of a known program.
pub fn peer(path: &str) -> Peer {
    process(path, true, 1000)
}

/// A process of a program of which it is not known what runs in it.
pub fn unknown_peer(path: &str, pid: u32) -> Peer {
    process(path, false, pid)
}

fn process(path: &str, is_known: bool, pid: u32) -> Peer {
    let name = path.rsplit('/').next().unwrap().to_owned();
    let program = Program { name, path: path.to_owned(), is_known };
    Peer {
        id: PeerId::Process { pid, started: 1 },
        seen_from: Some(Arc::new(PeerProcess { program, parents: Vec::new() })),
    }
}

pub fn session_caller(name: &str, session: &str) -> Caller {
    Caller { session: Some(session.into()), protocol_family: ProtocolFamily::Stateful, ..caller(name) }
}

pub fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

pub fn call(tool: &str, arguments: &str) -> ToolCall {
    ToolCall::new(tool.to_owned(), Some(raw(arguments)))
}

pub fn with_progress_sink(call: ToolCall, progress: ProgressCallback) -> ToolCall {
    ToolCall { progress: Some(progress), ..call }
}

pub fn builtin(name: &str, builtin: Builtin) -> ServerConfig {
    config(name, Transport::Builtin { builtin })
}

pub fn config(name: &str, transport: Transport) -> ServerConfig {
    ServerConfig { generation: Generation(1), ..ServerConfig::new(name, name, transport) }
}

/// A server whose tools are in `tools.json` of a folder, and which notes there what it gets.
pub fn scripted(name: &str, folder: &Path) -> ServerConfig {
    config(
        name,
        Transport::Stdio {
            command: "python3".to_owned(),
            args: vec![
                concat!(env!("CARGO_MANIFEST_DIR"), "/tests/call_pipeline/scripted.py").to_owned(),
                folder.to_str().unwrap().to_owned(),
            ],
            env: Default::default(),
            cwd: None,
            streams: Default::default(),
        },
    )
}

pub fn call_approval(approval: &PendingApproval) -> &CallApprovalRequest {
    match &approval.request {
        ApprovalRequest::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

pub fn answer_to(approval: &PendingApproval, answer: ApprovalAnswer) -> SubmittedAnswer {
    SubmittedAnswer { id: approval.id.clone(), hash: Some(call_approval(approval).hash.clone()), answer }
}

pub fn once() -> ApprovalAnswer {
    ApprovalAnswer::Allow { choice: GrantChoice::once() }
}

pub fn deny_once(reason: Option<&str>) -> ApprovalAnswer {
    ApprovalAnswer::Deny { choice: GrantChoice::once(), reason: reason.map(ToOwned::to_owned) }
}

pub fn choice(lifetime: ChoiceLifetime, width: ChoiceScope) -> GrantChoice {
    GrantChoice { lifetime, width, every_client: false, conditions: Vec::new() }
}

pub fn offered(choices: &[OfferedChoice]) -> Vec<GrantChoice> {
    choices.iter().map(OfferedChoice::choice).collect()
}

/// A text of the core in English.
pub fn said(message: &Message) -> String {
    render(message, Language::English, &|at| at.0.to_string())
}

pub fn allow(lifetime: ChoiceLifetime, width: ChoiceScope) -> ApprovalAnswer {
    ApprovalAnswer::Allow { choice: choice(lifetime, width) }
}

pub fn block(lifetime: ChoiceLifetime, width: ChoiceScope) -> ApprovalAnswer {
    ApprovalAnswer::Deny { choice: choice(lifetime, width), reason: None }
}
