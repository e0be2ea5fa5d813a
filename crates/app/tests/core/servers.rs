//! Servers through commands: adding, changing, copying and removing them, with their permissions and
//! secrets, and edits of the file by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{
    LockableSecrets, TIMEOUT, TestHome, add, draft, draft_of, run, server, servers, wait_until,
    wait_until_state,
};
use gatehouse_app::{Core, EventStream, StreamEvent};
use gatehouse_model::approval::{ApprovalAnswer, ApprovalRequest, AutoApprove};
use gatehouse_model::command::*;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::server_problem::{SettingChange, SettingsInput};
use gatehouse_model::{ErrorCode, Event, Generation, PendingApproval, Secret, SubmittedAnswer, Transport};
use serde_json::{Value, json};

async fn edit(
    core: &Core,
    name: &str,
    draft: ServerDraft,
) -> Result<gatehouse_model::server::ServerView, gatehouse_model::UserError> {
    run(core, ServersEdit { server: name.into(), draft, secrets: Vec::new() }).await
}

#[tokio::test]
async fn rejects_duplicate_and_illegal_names() {
    let home = TestHome::new();
    let core = home.start().await;
    for (name, code) in
        [("Time", ErrorCode::NameTaken), ("tIME", ErrorCode::NameTaken), ("", ErrorCode::BadRequest)]
    {
        let refused = add(&core, draft(name, Builtin::Notes)).await.unwrap_err();
        assert!(refused.code == code || refused.code == ErrorCode::BadConfig, "{name}: {refused:?}");
    }
    let notes = server(&core, "Notes").await.unwrap();
    let renamed = ServerDraft { name: "Time".into(), ..draft_of(&notes) };
    assert_eq!(edit(&core, "Notes", renamed).await.unwrap_err().code, ErrorCode::NameTaken);
    core.shutdown().await;
}

#[tokio::test]
async fn rejects_invalid_drafts() {
    let home = TestHome::new();
    let core = home.start().await;
    let remote = |url: &str| Transport::Http(gatehouse_model::server::Remote::at(url));
    let program = |command: &str| Transport::Stdio {
        command: command.into(),
        args: vec![],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    };
    let url = "In “url”: Enter an http or https address.";
    for (transport, text) in [
        (remote("ftp://example"), url),
        (remote("http://"), url),
        (remote("https:///path"), url),
        (program("  "), "In “command”: Enter a command."),
        (
            Transport::Builtin { builtin: Builtin::Files { folder: "relative".into() } },
            "In “builtin.folder”: Enter the folder's full path.",
        ),
        (
            Transport::Builtin { builtin: Builtin::Files { folder: "/no/such/folder".into() } },
            "In “builtin.folder”: This folder doesn't exist. Enter the full path of an existing folder.",
        ),
    ] {
        let wrong = ServerDraft { transport, ..draft("wrong", Builtin::Time) };
        let refused = add(&core, wrong).await.unwrap_err();
        assert_eq!((refused.code, refused.to_string().as_str()), (ErrorCode::BadRequest, text));
    }
    assert!(server(&core, "wrong").await.is_none());
    core.shutdown().await;
}

#[tokio::test]
async fn validates_without_changing_anything() {
    let home = TestHome::new();
    let core = home.start().await;
    let configs = async || servers(&core).await.into_iter().map(|view| view.config).collect::<Vec<_>>();
    let before = configs().await;
    let missing = home.data_dir().join("no-such-folder").display().to_string();
    let folder = |folder: &str| draft("files", Builtin::Files { folder: folder.into() });
    let secret = Transport::Stdio {
        command: "x".into(),
        args: vec![],
        env: BTreeMap::from([("KEY".to_owned(), "${secret:KEY}".to_owned())]),
        cwd: None,
        streams: Default::default(),
    };
    let keyed = || ServerDraft { transport: secret.clone(), ..draft("keyed", Builtin::Time) };
    let form = |server: Option<&str>, draft, secrets: &[&str]| ServersValidate {
        server: server.map(str::to_owned),
        settings: SettingsInput::Draft(Box::new(draft)),
        secrets: secrets.iter().map(|&field| field.to_owned()).collect(),
    };
    let json = |server: Option<&str>, text: &str| ServersValidate {
        server: server.map(str::to_owned),
        settings: SettingsInput::Json(text.to_owned()),
        secrets: Vec::new(),
    };
    let set = |changes: &[(&str, Option<&str>)]| {
        let change = |&(pointer, value): &(&str, Option<&str>)| SettingChange {
            pointer: pointer.to_owned(),
            value: value.map(str::to_owned),
        };
        ServersValidate {
            server: Some("Time".to_owned()),
            settings: SettingsInput::Changes(changes.iter().map(change).collect()),
            secrets: Vec::new(),
        }
    };
    for (wanted, said) in [
        (form(None, draft("new", Builtin::Time), &[]), vec![]),
        (form(None, draft("time", Builtin::Time), &[]), vec!["/name problem.name.taken"]),
        (form(Some("Time"), draft("time", Builtin::Time), &[]), vec![]),
        (form(None, folder("here"), &[]), vec!["/builtin/folder problem.folder"]),
        (form(None, folder(&missing), &[]), vec!["/builtin/folder problem.folderMissing"]),
        (form(None, keyed(), &[]), vec!["/env/KEY problem.secret"]),
        (form(None, keyed(), &["env/KEY"]), vec![]),
        (json(Some("Time"), r#"{"Time": {"builtin": {"kind": "time"}}}"#), vec![]),
        (json(Some("Time"), r#"{"Notes": {"builtin": {"kind": "time"}}}"#), vec!["/name problem.name.taken"]),
        (
            json(Some("Time"), r#"{"a": {"command": "x", "env": {"KEY": "${secret:KEY}"}}}"#),
            vec!["/env/KEY problem.secretJson"],
        ),
        (json(None, r#"{"a": {"command": 7}}"#), vec!["/command problem.text"]),
        (set(&[("/autostart", Some("false"))]), vec![]),
        (set(&[("/name", Some("\"Notes\""))]), vec!["/name problem.name.taken"]),
        (
            set(&[("/comand", Some("1")), ("/limits/strict", Some("1"))]),
            vec!["/comand problem.unknown", "/limits/strict problem.flag"],
        ),
        (set(&[("/builtin", None)]), vec!["/builtin problem.missing"]),
    ] {
        let report = run(&core, wanted.clone()).await.unwrap();
        let found: Vec<_> =
            report.problems.iter().map(|one| format!("{} {}", one.pointer, one.message.key)).collect();
        assert_eq!(found, said, "{wanted:?}");
        let is_text = matches!(wanted.settings, SettingsInput::Json(_));
        assert!(report.problems.iter().all(|problem| problem.span.is_some() == is_text), "{report:?}");
    }
    let unknown = run(&core, form(Some("nobody"), keyed(), &[])).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);
    // Only the operator learns which folders there are.
    let report = core.run(&form(None, folder(&missing), &[]), Authority::Anyone).await.unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(configs().await, before);
    core.shutdown().await;
}

#[tokio::test]
async fn only_transport_edits_change_generation() {
    let home = TestHome::new();
    let core = home.start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let files = |at: usize| Builtin::Files { folder: folders[at].path().display().to_string() };
    let before = add(&core, draft("Folder", files(0))).await.unwrap();
    wait_until_state(&core, "Folder", "connected").await;
    run(&core, PolicyAutoApprove { server: Some("Folder".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    assert!(!server(&core, "Folder").await.unwrap().auto_approve.is_empty());

    let mut renamed = draft_of(&before);
    renamed.name = "Files of mine".into();
    renamed.look.description = Some("what I write".into());
    let renamed = edit(&core, "Folder", renamed).await.unwrap();
    assert_eq!(
        (renamed.config.id.clone(), renamed.config.generation),
        (before.config.id.clone(), before.config.generation)
    );
    assert!(!renamed.auto_approve.is_empty(), "a rename keeps the permissions");
    assert_eq!(renamed.status.as_str(), "connected", "a rename does not reconnect");

    let mut moved = draft_of(&renamed);
    moved.transport = Transport::Builtin { builtin: files(1) };
    let moved = edit(&core, "Files of mine", moved).await.unwrap();
    assert_eq!(moved.config.id, before.config.id);
    assert_eq!(moved.config.generation, Generation(before.config.generation.0 + 1));
    assert!(moved.auto_approve.is_empty(), "another folder keeps no permissions: {moved:?}");
    core.shutdown().await;

    let core = home.start().await;
    let kept = server(&core, "Files of mine").await.unwrap();
    assert_eq!(kept.config, moved.config);
    core.shutdown().await;
}

#[tokio::test]
async fn duplicate_has_own_id_and_no_permissions() {
    let home = TestHome::new();
    let core = home.start().await;
    let original = wait_until_state(&core, "Notes", "connected").await;
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let copy =
        run(&core, ServersDuplicate { server: "Notes".into(), name: "Notes too".into() }).await.unwrap();
    assert_ne!(copy.config.id, original.config.id);
    assert_eq!(copy.config.transport, original.config.transport);
    assert!(copy.auto_approve.is_empty());
    let taken =
        run(&core, ServersDuplicate { server: "Notes".into(), name: "Time".into() }).await.unwrap_err();
    assert_eq!(taken.code, ErrorCode::NameTaken);
    core.shutdown().await;
}

#[tokio::test]
async fn removing_server_removes_its_permissions() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    run(&core, ServersTrustLabels { server: "Notes".into(), trusted: true, generation: None }).await.unwrap();
    run(&core, ServersRemove { server: "Notes".into(), undoable: false }).await.unwrap();
    assert!(server(&core, "Notes").await.is_none());
    let policy = run(&core, PolicyShow {}).await.unwrap();
    assert!(policy.rules.is_empty() && policy.trusted_labels.is_empty(), "{policy:?}");
    let again = run(&core, ServersRemove { server: "Notes".into(), undoable: false }).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
    core.shutdown().await;
}

#[tokio::test]
async fn trusting_labels_of_new_server_allows_reads() {
    let home = TestHome::new();
    let core = home.start().await;
    let wanted =
        ServersAdd { draft: draft("Clock", Builtin::Time), trust_labels: true, secrets: vec![], run: None };
    let view = run(&core, wanted).await.unwrap();
    assert!(view.trusted_labels && !view.auto_approve.is_empty(), "{view:?}");
    let view = server(&core, "Notes").await.unwrap();
    assert!(!view.trusted_labels && view.auto_approve.is_empty(), "{view:?}");
    core.shutdown().await;
}

#[tokio::test]
async fn start_restarts_stopped_and_enables_disabled_server() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    run(&core, ServersStop { server: "Time".into(), disable: false }).await.unwrap();
    wait_until_state(&core, "Time", "stopped").await;
    run(&core, ServersStart { server: "Time".into() }).await.unwrap();
    wait_until_state(&core, "Time", "connected").await;
    run(&core, ServersStop { server: "Time".into(), disable: true }).await.unwrap();
    wait_until_state(&core, "Time", "disabled").await;
    let refused = run(&core, ServersReconnect { server: "Time".into() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ServerUnavailable);
    run(&core, ServersStart { server: "Time".into() }).await.unwrap();
    assert!(wait_until_state(&core, "Time", "connected").await.config.enabled);
    core.shutdown().await;
}

#[tokio::test]
async fn server_test_stores_nothing() {
    let home = TestHome::new();
    let core = home.start().await;
    let report = run(&core, ServersTest { draft: draft("Tried", Builtin::Time), secrets: vec![], run: None })
        .await
        .unwrap();
    let tool = report.tools.iter().find(|tool| tool.name == "current_time").unwrap();
    assert!(tool.read_only && tool.description.is_some(), "{report:?}");
    assert!(server(&core, "Tried").await.is_none());
    core.shutdown().await;
}

/// A program that says on standard error what it got, and ends.
fn env_printing_draft(env: &[(&str, &str)]) -> ServerDraft {
    ServerDraft {
        transport: Transport::Stdio {
            command: "sh".into(),
            args: vec!["-c".into(), "echo \"length ${#API_KEY}\" >&2; exit 3".into()],
            env: env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            cwd: None,
            streams: Default::default(),
        },
        autostart: false,
        ..draft("keyed", Builtin::Time)
    }
}

fn secret(field: &str, value: &str) -> FieldSecret {
    FieldSecret { field: field.into(), value: RequestSecret::new(&Secret::new(value)) }
}

#[cfg(unix)]
#[tokio::test]
async fn secret_reaches_its_field_and_no_file() {
    let home = TestHome::new();
    let core = home.start().await;
    let keyed = env_printing_draft(&[("API_KEY", "${secret:API_KEY}")]);
    let without = add(&core, keyed.clone()).await.unwrap_err();
    assert!(without.message.to_string().contains("env/API_KEY"), "{without}");
    let misplaced = ServersAdd {
        draft: keyed.clone(),
        trust_labels: false,
        secrets: vec![secret("env/OTHER", "x")],
        run: None,
    };
    assert!(run(&core, misplaced).await.is_err());

    let value = "twenty-four characters !";
    let given = ServersAdd {
        draft: keyed.clone(),
        trust_labels: false,
        secrets: vec![secret("env/API_KEY", value)],
        run: None,
    };
    let view = run(&core, given).await.unwrap();
    run(&core, ServersStart { server: "keyed".into() }).await.unwrap();
    wait_until(&core, "the length of the secret", async || {
        let view = server(&core, "keyed").await?;
        view.log_tail.iter().any(|line| line.text.contains("length 24")).then_some(())
    })
    .await;
    let log = run(&core, ServersLog { server: "keyed".into() }).await.unwrap();
    assert!(log.iter().any(|line| line.text.contains("length 24")), "{log:?}");
    assert!(run(&core, ServersLog { server: "nobody".into() }).await.is_err());
    let journal = run(&core, EventsList {}).await.unwrap();
    assert!(
        journal.iter().any(|kept| matches!(&kept.event, Event::ServerAdded { name, .. } if name == "keyed"))
    );
    let file = std::fs::read_to_string(home.servers_file()).unwrap();
    assert!(!file.contains(value) && file.contains("${secret:API_KEY}"), "{file}");
    let shown = serde_json::to_string(&view).unwrap();
    assert!(!shown.contains(value));

    // Under another name the program keeps its secret. Neither another program gets it, nor the same with
    // other variables, which could load other code or name another address.
    let renamed = ServerDraft { name: "Keyed".into(), ..keyed.clone() };
    edit(&core, "keyed", renamed.clone()).await.unwrap();
    let mut other = renamed.clone();
    if let Transport::Stdio { args, .. } = &mut other.transport {
        args[1] = "curl evil".into();
    }
    let more = env_printing_draft(&[("API_KEY", "${secret:API_KEY}"), ("API_URL", "https://evil.example")]);
    let more = ServerDraft { name: "Keyed".into(), ..more };
    for draft in [more, other] {
        let refused = edit(&core, "keyed", draft.clone()).await.unwrap_err();
        assert!(refused.message.to_string().contains("env/API_KEY"), "{refused}");
        let secrets = vec![secret("env/API_KEY", "new")];
        run(&core, ServersEdit { server: "keyed".into(), draft, secrets }).await.unwrap();
        edit(&core, "keyed", renamed.clone()).await.unwrap_err();
    }
    core.shutdown().await;
}

async fn wait_for_approval(core: &Core) -> PendingApproval {
    wait_until(core, "a question", async || {
        run(core, ApprovalsList { known: Vec::new() }).await.unwrap().into_iter().next()
    })
    .await
}

async fn answer(core: &Core, pending: &PendingApproval, answer: ApprovalAnswer) {
    let answers = vec![SubmittedAnswer { id: pending.id.clone(), hash: None, answer }];
    run(core, ApprovalsAnswer { answers }).await.unwrap();
}

async fn hand_edits_in_audit(core: &Core) -> Vec<bool> {
    let entries = run(core, AuditList { after: None, limit: None }).await.unwrap();
    let settled = entries.into_iter().filter_map(|entry| match entry.event {
        AuditEvent::HandEdit { confirmed, .. } => Some(confirmed),
        _ => None,
    });
    settled.collect()
}

fn change_file(home: &TestHome, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read_to_string(home.servers_file()).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    change(&mut file);
    std::fs::write(home.servers_file(), serde_json::to_string_pretty(&file).unwrap()).unwrap();
}

#[tokio::test]
async fn confirmed_file_edit_takes_effect() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    change_file(&home, |file| {
        file["mcpServers"]["Clock"] = json!({ "type": "builtin", "builtin": { "kind": "time" } });
    });
    let pending = wait_for_approval(&core).await;
    assert!(
        matches!(&pending.request, ApprovalRequest::ConfigChange(ask) if ask.server == "Clock"),
        "{pending:?}"
    );
    assert!(server(&core, "Clock").await.is_none(), "it ran before it was confirmed");
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.problems.iter().any(|p| p.message.to_string().contains("Clock")), "{status:?}");
    answer(&core, &pending, ApprovalAnswer::Accept { content: None }).await;
    wait_until_state(&core, "Clock", "connected").await;
    assert_eq!(hand_edits_in_audit(&core).await, [true]);
    core.shutdown().await;
    let core = home.start().await;
    wait_until_state(&core, "Clock", "connected").await;
    assert!(run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn rejected_file_edit_stays_rejected_until_next_change() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    let evil = json!({ "command": "sh", "args": ["-c", "true"] });
    change_file(&home, |file| file["mcpServers"]["evil"] = evil.clone());
    let pending = wait_for_approval(&core).await;
    answer(&core, &pending, ApprovalAnswer::Decline).await;
    wait_until(&core, "the refusal in the audit", async || {
        (hand_edits_in_audit(&core).await == [false]).then_some(())
    })
    .await;
    wait_until(&core, "no question", async || {
        run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().is_empty().then_some(())
    })
    .await;
    assert!(server(&core, "evil").await.is_none());
    // What commands do goes on, and brings no question back.
    add(&core, draft("More", Builtin::Time)).await.unwrap();
    assert!(server(&core, "evil").await.is_none());

    change_file(&home, |file| file["mcpServers"]["evil"] = evil);
    let again = wait_for_approval(&core).await;
    assert!(
        matches!(&again.request, ApprovalRequest::ConfigChange(ask) if ask.server == "evil"),
        "{again:?}"
    );
    core.shutdown().await;
}

#[tokio::test]
async fn reverted_file_edit_withdraws_approval() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    let before = std::fs::read_to_string(home.servers_file()).unwrap();
    change_file(&home, |file| {
        file["mcpServers"].as_object_mut().unwrap().remove("Time");
    });
    let pending = wait_for_approval(&core).await;
    assert!(
        matches!(&pending.request, ApprovalRequest::ConfigChange(ask) if ask.server == "Time"),
        "{pending:?}"
    );
    assert!(server(&core, "Time").await.is_some());
    std::fs::write(home.servers_file(), before).unwrap();
    wait_until(&core, "no question", async || {
        run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().is_empty().then_some(())
    })
    .await;
    assert!(server(&core, "Time").await.is_some());
    core.shutdown().await;
}

/// The administrator's policy file (SRV-18): what it forbids is neither added, nor edited into, nor
/// connected to, and the reason is shown; one that cannot be read forbids everything.
#[tokio::test]
async fn managed_policy_cannot_be_overridden() {
    let home = TestHome::new();
    let path = home.data_dir().parent().unwrap().join("policy.json");
    let policy = gatehouse_servers::PolicyFile::at(path.clone());
    let core = Core::start(gatehouse_app::CoreOptions { policy, ..home.options() }).await.unwrap();
    wait_until_state(&core, "Notes", "connected").await;
    let deny = r#"{"servers":{"deny":[{"builtin":"notes"},{"name":"Fetch*"}],"reason":"Ask IT."}}"#;
    std::fs::write(&path, deny).unwrap();

    let refused = add(&core, draft("More notes", Builtin::Notes)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    assert!(refused.message.to_string().contains("Ask IT."), "{refused}");
    add(&core, draft("Clock", Builtin::Time)).await.unwrap();
    let clock = server(&core, "Clock").await.unwrap();
    let renamed = ServerDraft { name: "Fetched".into(), ..draft_of(&clock) };
    assert_eq!(edit(&core, "Clock", renamed).await.unwrap_err().code, ErrorCode::NotPermitted);

    run(&core, ServersReconnect { server: "Notes".into() }).await.unwrap();
    wait_until_state(&core, "Notes", "failed").await;
    let notes = server(&core, "Notes").await.unwrap();
    let gatehouse_model::ServerStatus::Failed { message, next_retry, .. } = notes.status else { panic!() };
    assert!(message.to_string().contains("Ask IT.") && next_retry.is_none(), "{message}");

    std::fs::write(&path, "{").unwrap();
    run(&core, ServersReconnect { server: "Clock".into() }).await.unwrap();
    wait_until_state(&core, "Clock", "failed").await;
    core.shutdown().await;
}

/// A change of the file that says nothing new about servers, so that it is read again.
fn touch(home: &TestHome) {
    let text = std::fs::read_to_string(home.servers_file()).unwrap();
    std::fs::write(home.servers_file(), format!("{text}\n")).unwrap();
}

/// Waits until what is wrong with the file is said to be something with these words, or nothing.
async fn wait_until_file_problem(events: &mut EventStream, words: Option<&str>) {
    let waiting = async {
        loop {
            let Some(event) = events.next().await else { panic!("the core is gone") };
            if let StreamEvent::Event(envelope) = event
                && let Event::ConfigChanged { problem, .. } = &envelope.event
                && match (problem, words) {
                    (Some(problem), Some(words)) => problem.to_string().contains(words),
                    (problem, words) => problem.is_none() && words.is_none(),
                }
            {
                return;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("no event with {words:?}"));
}

/// A server with a secret beside the default ones.
async fn add_server_with_secret(core: &Core) {
    let remote = gatehouse_model::server::Remote {
        headers: [("X-Key".to_owned(), "${secret:KEY}".to_owned())].into(),
        ..gatehouse_model::server::Remote::at("https://mcp.example/mcp")
    };
    let draft = ServerDraft {
        transport: Transport::Http(remote),
        enabled: false,
        autostart: false,
        ..draft("Remote", Builtin::Time)
    };
    let secrets = vec![secret("headers/X-Key", "very secret")];
    run(core, ServersAdd { draft, trust_labels: false, secrets, run: None }).await.unwrap();
}

async fn names_and_generations(core: &Core) -> Vec<(String, Generation)> {
    servers(core).await.into_iter().map(|view| (view.config.name, view.config.generation)).collect()
}

#[tokio::test]
async fn locked_keychain_stops_and_deletes_nothing_while_running() {
    let secrets = Arc::new(LockableSecrets::default());
    let home = TestHome::with_secrets(Arc::<LockableSecrets>::clone(&secrets));
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    add_server_with_secret(&core).await;
    let (before, stored) = (names_and_generations(&core).await, secrets.names());
    assert_eq!(before.len(), 3, "{before:?}");

    let mut events = core.events();
    secrets.set_locked(true);
    touch(&home);
    wait_until_file_problem(&mut events, Some("cannot be checked")).await;
    assert_eq!(names_and_generations(&core).await, before);
    assert_eq!(server(&core, "Time").await.unwrap().status.as_str(), "connected");

    secrets.set_locked(false);
    touch(&home);
    wait_until_file_problem(&mut events, None).await;
    assert_eq!(names_and_generations(&core).await, before);
    assert_eq!(secrets.names(), stored, "no secret was deleted");
    core.shutdown().await;
}

#[tokio::test]
async fn list_with_broken_seal_stops_and_deletes_nothing_while_running() {
    let secrets = Arc::new(LockableSecrets::default());
    let home = TestHome::with_secrets(Arc::<LockableSecrets>::clone(&secrets));
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    add_server_with_secret(&core).await;
    let (before, stored) = (names_and_generations(&core).await, secrets.names());

    let mut events = core.events();
    let ledger = rusqlite::Connection::open(home.data_dir().join("ledger.db")).unwrap();
    let forged = ledger
        .execute("UPDATE sealed SET body = CAST(replace(body, 'mcp.example', 'mcp.invalid') AS BLOB) WHERE name LIKE 'servers/%'", [])
        .unwrap();
    assert_eq!(forged, 1);
    touch(&home);
    wait_until_file_problem(&mut events, Some("was changed from outside")).await;
    assert_eq!(names_and_generations(&core).await, before);
    assert_eq!(server(&core, "Time").await.unwrap().status.as_str(), "connected");
    assert!(run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().is_empty(), "no edit is offered");
    assert_eq!(secrets.names(), stored, "no secret was deleted");
    core.shutdown().await;
}

#[tokio::test]
async fn starts_only_when_list_of_servers_can_be_read() {
    let secrets = Arc::new(LockableSecrets::default());
    let home = TestHome::with_secrets(Arc::<LockableSecrets>::clone(&secrets));
    let core = home.start().await;
    add_server_with_secret(&core).await;
    let before = names_and_generations(&core).await;
    core.shutdown().await;
    secrets.set_locked(true);
    let refused = Core::start(home.options()).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::SecretsUnavailable, "{refused}");
    secrets.set_locked(false);
    let core = home.start().await;
    assert_eq!(names_and_generations(&core).await, before);
    core.shutdown().await;
}
