//! What the user began under a name is cancelled by it, and when nobody waits for it any more: its work ends, and nothing of
//! it stays.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{TIMEOUT, TestHome, draft, run, server, wait_until, wait_until_state};
use gatehouse_app::Core;
use gatehouse_model::command::{
    ImportAction, ImportChoice, ImportOrigin, ImportsPreview, ImportsRun, PolicySimulate, RegistrySearch,
    RequestSecret, ServersAdd, ServersStopRun, ServersTest, SettingsSet, TypedCommand,
};
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::simulation::PolicyDraft;
use gatehouse_model::{ErrorCode, Secret, Timestamp, Transport};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

const RUN: &str = "mine";

async fn stop_run(core: &Core) {
    run(core, ServersStopRun { run: RUN.into() }).await.unwrap();
}

/// A server that writes its process id to a file and never answers.
fn silent(pid_file: &Path) -> ServerDraft {
    let transport = Transport::Stdio {
        command: "sh".into(),
        args: vec!["-c".into(), format!("echo $$ > '{}'; exec sleep 600", pid_file.display())],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    };
    ServerDraft { transport, ..draft("silent", Builtin::Time) }
}

fn is_running(pid: u32) -> bool {
    let asked = Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status();
    asked.unwrap().success()
}

/// Waits for the process of the silent server, and returns its id.
async fn started(core: &Core, pid_file: &Path) -> u32 {
    let pid = wait_until(core, "the process", async || {
        let text = std::fs::read_to_string(pid_file).ok()?;
        text.strip_suffix('\n')?.parse::<u32>().ok()
    })
    .await;
    assert!(is_running(pid));
    pid
}

async fn wait_for_end(core: &Core, pid: u32) {
    wait_until(core, "the process to end", async || (!is_running(pid)).then_some(())).await;
}

/// Runs a command that starts the silent server, and cancels it once the server's process is there. Returns the code of
/// its error, after the process has ended.
async fn cancel_when_started<R: TypedCommand>(core: &Core, request: R, pid_file: &Path) -> ErrorCode {
    let stopping = async {
        let pid = started(core, pid_file).await;
        stop_run(core).await;
        pid
    };
    let (outcome, pid) = tokio::join!(run(core, request), stopping);
    wait_for_end(core, pid).await;
    outcome.err().expect("it was not cancelled").code
}

#[tokio::test]
async fn cancelling_a_connection_test_ends_its_process() {
    let home = TestHome::new();
    let core = home.start().await;
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let wanted = ServersTest { draft: silent(&pid_file), secrets: vec![], run: Some(RUN.into()) };
    assert_eq!(cancel_when_started(&core, wanted, &pid_file).await, ErrorCode::Cancelled);
    // Its name is free again.
    let again = ServersTest { draft: draft("Tried", Builtin::Time), secrets: vec![], run: Some(RUN.into()) };
    run(&core, again).await.unwrap();
    core.shutdown().await;
}

/// As when `gatehousectl` ends while it waits.
#[tokio::test]
async fn a_connection_test_ends_with_its_caller() {
    let home = TestHome::new();
    let core = home.start().await;
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let wanted = ServersTest { draft: silent(&pid_file), secrets: vec![], run: None };
    let pid = tokio::select! {
        outcome = run(&core, wanted) => panic!("it ended by itself: {:?}", outcome.err()),
        pid = started(&core, &pid_file) => pid,
    };
    wait_for_end(&core, pid).await;
    core.shutdown().await;
}

/// With trusted labels the addition waits until the server is connected.
#[tokio::test]
async fn cancelling_an_addition_removes_the_server() {
    let home = TestHome::new();
    let core = home.start().await;
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let wanted =
        ServersAdd { draft: silent(&pid_file), trust_labels: true, secrets: vec![], run: Some(RUN.into()) };
    assert_eq!(cancel_when_started(&core, wanted, &pid_file).await, ErrorCode::Cancelled);
    assert!(server(&core, "silent").await.is_none());
    let file = std::fs::read_to_string(home.servers_file()).unwrap();
    assert!(!file.contains("silent"), "{file}");
    core.shutdown().await;
}

/// What ran without asking elsewhere is set once the server is connected. Cancelled, the import ends before, and what comes
/// after it in the list isn't imported.
#[tokio::test]
async fn cancelling_an_import_ends_the_wait_for_its_servers() {
    let home = TestHome::new();
    let core = home.start().await;
    let settings = serde_json::json!({ "mcpServers": {
        "silent": { "command": "sleep", "args": ["600"], "autoApprove": ["read"] },
    } });
    let from = || ImportOrigin::Text(RequestSecret::new(&Secret::new(settings.to_string())));
    let preview = run(&core, ImportsPreview { from: from() }).await.unwrap();
    let choice = ImportChoice {
        index: preview.candidates[0].index,
        action: ImportAction::Add,
        keep_plain: false,
        auto_approve: true,
        inputs: vec![],
    };
    let wanted = ImportsRun {
        from: from(),
        fingerprint: preview.fingerprint,
        servers: vec![choice],
        run: Some(RUN.into()),
    };
    let stopping = async {
        wait_until_state(&core, "silent", "connecting").await;
        stop_run(&core).await;
    };
    // The server has 30 s to connect.
    let importing = async { tokio::join!(run(&core, wanted), stopping) };
    let (outcomes, ()) = tokio::time::timeout(TIMEOUT / 2, importing).await.expect("the import goes on");
    let outcomes = outcomes.unwrap();
    let [outcome] = &outcomes[..] else { panic!("one server was picked") };
    assert!(outcome.server.is_some(), "{outcome:?}");
    assert_eq!(outcome.problem.as_ref().map(|problem| problem.code), Some(ErrorCode::ServerUnavailable));
    assert!(server(&core, "silent").await.is_some());
    core.shutdown().await;
}

/// A simulation waits for a thread to read the calls, which others keep busy until it was stopped.
#[test]
fn cancelling_a_simulation_frees_its_name() {
    const THREADS: usize = 4;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build();
    runtime.unwrap().block_on(async {
        let home = TestHome::new();
        let core = home.start().await;
        let wanted =
            || PolicySimulate { since: Timestamp(0), draft: PolicyDraft::default(), run: Some(RUN.into()) };
        let busy: Vec<_> = (0..THREADS)
            .map(|_| {
                let (end, ended) = std::sync::mpsc::channel::<()>();
                (end, tokio::task::spawn_blocking(move || ended.recv()))
            })
            .collect();
        let (outcome, ()) = tokio::join!(biased; run(&core, wanted()), stop_run(&core));
        assert_eq!(outcome.unwrap_err().code, ErrorCode::Cancelled);
        drop(busy);
        assert_eq!(run(&core, wanted()).await.unwrap().calls, 0);
        core.shutdown().await;
    });
}

/// The registry accepts the connection and never answers.
#[tokio::test]
async fn cancelling_a_search_in_the_registry_closes_its_connection() {
    let home = TestHome::new();
    let core = home.start().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let settings = SettingsSet {
        audit_days: None,
        activity_days: 90,
        activity_calls: 1_000_000,
        packages: None,
        client_document: None,
        calls: None,
        tool_names: None,
        allowed_hosts: None,
        registry: Some(format!("http://{}", listener.local_addr().unwrap())),
    };
    run(&core, settings).await.unwrap();
    let search = RegistrySearch { text: "x".into(), cursor: None, refresh: true, run: Some(RUN.into()) };
    let stopping = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stop_run(&core).await;
        // It ends, or is reset.
        let closed = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut Vec::new())).await;
        assert!(closed.is_ok(), "the connection stays open");
    };
    let (outcome, ()) = tokio::join!(run(&core, search), stopping);
    assert_eq!(outcome.err().unwrap().code, ErrorCode::Cancelled);
    core.shutdown().await;
}
