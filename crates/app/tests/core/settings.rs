//! The switch of MCP as a whole, the reset, and how long things are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::common::{TestHome, add, draft, run, server, servers, wait_until, wait_until_state};
use gatehouse_app::{Authority, Core, CoreOptions};
use gatehouse_model::approval::AutoApprove;
use gatehouse_model::command::*;
use gatehouse_model::messages::Language;
use gatehouse_model::record::{AuditEvent, AuditVerdict, CallOutcome};
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::{AuditEntryView, Clock, ErrorCode, Rule, Settings, Timestamp};

const DAY: i64 = 24 * 3600 * 1000;

#[derive(Debug)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// A client that may do everything on the notes, and its call.
async fn caller(core: &Core) -> Call {
    wait_until_state(core, "Notes", "connected").await;
    let token = run(core, ClientsAdd { name: "Claude".into() }).await.unwrap().token;
    run(core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    Call { token, tool: "add_note".into(), arguments: r#"{"text":"x"}"#.into() }
}

async fn entries(core: &Core) -> Vec<AuditEntryView> {
    run(core, AuditList { after: None, limit: None }).await.unwrap()
}

async fn whole(core: &Core) -> bool {
    matches!(run(core, AuditVerify { run: None }).await.unwrap(), AuditVerdict::Whole { .. })
}

fn keeping(audit_days: Option<u32>) -> SettingsSet {
    SettingsSet {
        audit_days,
        activity_days: 90,
        activity_calls: 1_000_000,
        packages: None,
        client_document: None,
        calls: None,
        tool_names: None,
        allowed_hosts: None,
        registry: None,
    }
}

#[tokio::test]
async fn changes_are_audited_in_the_language_of_the_reader() {
    let home = TestHome::new();
    let core = home.start().await;
    let hosts = Some(vec!["host.docker.internal".to_owned()]);
    run(&core, SettingsSet { allowed_hosts: hosts, ..keeping(Some(365)) }).await.unwrap();
    let entries = entries(&core).await;
    let what = entries.into_iter().find_map(|entry| match entry.event {
        AuditEvent::SettingsChanged { what } => Some(what),
        _ => None,
    });
    let what = what.unwrap();
    for (language, words) in [
        (Language::English, ["for 365 days", "90 days", "1000000 at most", "host.docker.internal"]),
        (Language::SimplifiedChinese, ["365 天", "90 天", "1000000 条", "host.docker.internal"]),
    ] {
        let text = what.render(language, &|_| String::new());
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    core.shutdown().await;
}

#[tokio::test]
async fn switching_off_stops_servers_and_explains_refusals() {
    let home = TestHome::new();
    let core = home.start().await;
    let call = caller(&core).await;
    assert!(run(&core, Status {}).await.unwrap().switched_on);
    // Anybody may stop things.
    core.run(&ServersSwitchOff {}, Authority::Anyone).await.unwrap();
    let status = run(&core, Status {}).await.unwrap();
    assert!(!status.switched_on && status.running == 0, "{status:?}");
    for view in servers(&core).await {
        assert_eq!(view.status.as_str(), "stopped", "{}", view.config.name);
    }
    let reply = run(&core, call.clone()).await.unwrap();
    assert!(reply.is_tool_error && reply.body.contains("MCP is switched off"), "{reply:?}");
    assert!(reply.body.contains("gatehousectl servers on"), "{reply:?}");
    let unknown = run(&core, Call { tool: "no_such_tool".into(), ..call.clone() }).await.unwrap();
    assert!(unknown.is_tool_error && unknown.body.contains("MCP is switched off"), "{unknown:?}");
    let kept = run(&core, CallsList { filter: Default::default() }).await.unwrap();
    assert_eq!((&kept[0].verdict.rule, &kept[0].outcome), (&Rule::SwitchedOff, &CallOutcome::Refused));

    let refused = run(&core, ServersStart { server: "Notes".into() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ServerUnavailable);
    add(&core, draft("More", Builtin::Time)).await.unwrap();
    assert_eq!(server(&core, "More").await.unwrap().status.as_str(), "stopped");

    let refused = core.run(&ServersSwitchOn {}, Authority::Anyone).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    run(&core, ServersSwitchOn {}).await.unwrap();
    for name in ["Time", "Notes", "More"] {
        wait_until_state(&core, name, "connected").await;
    }
    assert!(!run(&core, call).await.unwrap().is_tool_error);
    let said = |event: &AuditEvent, word: &str| matches!(event, AuditEvent::SettingsChanged { what } if what.to_string().contains(word));
    let entries = entries(&core).await;
    assert_eq!(entries.iter().filter(|e| said(&e.event, "off") || said(&e.event, "on")).count(), 2);
    core.shutdown().await;
}

#[tokio::test]
async fn switching_off_ends_pending_calls() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    let token = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap().token;
    let call = Call { token, tool: "add_note".into(), arguments: r#"{"text":"x"}"#.into() };
    let switching = async {
        wait_until(&core, "a question", async || {
            let pending = run(&core, ApprovalsList { known: Vec::new() }).await.unwrap();
            (!pending.is_empty()).then_some(())
        })
        .await;
        run(&core, ServersSwitchOff {}).await.unwrap();
    };
    let (reply, ()) = tokio::join!(run(&core, call), switching);
    let reply = reply.unwrap();
    assert!(reply.is_tool_error && reply.body.contains("MCP is switched off"), "{reply:?}");
    assert!(run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().is_empty());
    core.shutdown().await;
}

#[tokio::test]
async fn switch_survives_restart() {
    let home = TestHome::new();
    let core = home.start().await;
    let call = caller(&core).await;
    run(&core, ServersSwitchOff {}).await.unwrap();
    core.shutdown().await;

    let core = home.start().await;
    assert!(!run(&core, Status {}).await.unwrap().switched_on);
    let all = servers(&core).await;
    assert!(!all.is_empty() && all.iter().all(|view| view.status.as_str() == "stopped"), "{all:?}");
    // Nothing was ever connected in this run, so no tool is known; the answer is the same.
    let reply = run(&core, call.clone()).await.unwrap();
    assert!(reply.is_tool_error && reply.body.contains("MCP is switched off"), "{reply:?}");
    run(&core, ServersSwitchOn {}).await.unwrap();
    wait_until_state(&core, "Notes", "connected").await;
    core.shutdown().await;

    let core = home.start().await;
    assert!(run(&core, Status {}).await.unwrap().switched_on);
    core.shutdown().await;
}

#[tokio::test]
async fn tampered_settings_keep_audit_and_switch_mcp_off() {
    let home = TestHome::new();
    let core = home.start().await;
    run(
        &core,
        SettingsSet {
            audit_days: Some(7),
            activity_days: 1,
            activity_calls: 5,
            packages: None,
            client_document: None,
            calls: None,
            tool_names: None,
            allowed_hosts: None,
            registry: None,
        },
    )
    .await
    .unwrap();
    let before = entries(&core).await.len();
    core.shutdown().await;
    let ledger = rusqlite::Connection::open(home.data_dir().join("ledger.db")).unwrap();
    let touched = ledger
        .execute("UPDATE sealed SET body = replace(body, 'true', 'false') WHERE name LIKE 'settings/%'", [])
        .unwrap();
    assert_eq!(touched, 1);
    drop(ledger);

    let later = gatehouse_model::SystemClock.now().plus(std::time::Duration::from_secs(30 * 24 * 3600));
    let clock = Arc::new(SetClock(AtomicI64::new(later.0)));
    let core = Core::start(CoreOptions { clock, ..home.options() }).await.unwrap();
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.problems.iter().any(|p| p.message.to_string().contains("settings")), "{status:?}");
    assert!(!status.switched_on);
    assert_eq!(run(&core, SettingsShow {}).await.unwrap(), Settings { mcp_on: false, ..Settings::default() });
    assert!(entries(&core).await.len() > before, "nothing was let go of");
    // Only the operator makes new ones.
    core.run(&ServersSwitchOff {}, Authority::Anyone).await.unwrap();
    assert!(
        run(&core, Status {})
            .await
            .unwrap()
            .problems
            .iter()
            .any(|p| p.message.to_string().contains("settings"))
    );
    run(&core, ServersSwitchOn {}).await.unwrap();
    let status = run(&core, Status {}).await.unwrap();
    assert!(status.switched_on && status.problems.is_empty(), "{status:?}");
    assert_eq!(run(&core, SettingsShow {}).await.unwrap(), Settings::default());
    assert!(whole(&core).await);
    core.shutdown().await;
}

#[tokio::test]
async fn retention_removes_old_audit_entries_and_keeps_chain_whole() {
    let home = TestHome::new();
    let clock = Arc::new(SetClock(AtomicI64::new(gatehouse_model::SystemClock.now().0)));
    let start = async || {
        let options = CoreOptions { clock: Arc::<SetClock>::clone(&clock), ..home.options() };
        Core::start(options).await.unwrap()
    };
    let core = start().await;
    for name in ["a", "b", "c"] {
        run(&core, ClientsAdd { name: name.into() }).await.unwrap();
    }
    let old = entries(&core).await.len();
    clock.0.fetch_add(10 * DAY, Ordering::SeqCst);
    run(&core, ClientsAdd { name: "d".into() }).await.unwrap();

    let refused = core.run(&keeping(Some(7)), Authority::Anyone).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    for wrong in [
        keeping(Some(0)),
        keeping(Some(6)),
        SettingsSet { activity_days: 0, ..keeping(None) },
        SettingsSet { activity_calls: 0, ..keeping(None) },
    ] {
        assert_eq!(run(&core, wrong).await.unwrap_err().code, ErrorCode::BadRequest);
    }
    assert_eq!(entries(&core).await.len(), old + 1, "nothing refused was put into effect");

    run(&core, keeping(Some(11))).await.unwrap();
    assert_eq!(entries(&core).await.len(), old + 2, "all of it is younger");
    let set = run(&core, keeping(Some(7))).await.unwrap();
    assert_eq!(set.audit_days, Some(7));
    let left = entries(&core).await;
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(left[0].seq, old as u64 + 1);
    assert!(whole(&core).await);
    core.shutdown().await;

    // The next start lets go of what has become old meanwhile.
    clock.0.fetch_add(30 * DAY, Ordering::SeqCst);
    let core = start().await;
    wait_until(&core, "the old entries to go", async || {
        let left = entries(&core).await;
        left.iter().all(|entry| entry.at.0 >= clock.0.load(Ordering::SeqCst) - 7 * DAY).then_some(())
    })
    .await;
    assert!(whole(&core).await);
    assert_eq!(run(&core, SettingsShow {}).await.unwrap(), set);
    core.shutdown().await;
}

#[tokio::test]
async fn reset_restores_default_servers() {
    let home = TestHome::new();
    let core = home.start().await;
    let notes = wait_until_state(&core, "Notes", "connected").await;
    run(&core, ServersRemove { server: "Time".into(), undoable: false }).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().display().to_string();
    // One that has the name of a first one and is another.
    add(&core, draft("Time", Builtin::Files { folder })).await.unwrap();
    let secret = ServerDraft {
        transport: gatehouse_model::Transport::Stdio {
            command: "cat".into(),
            args: vec![],
            env: [("KEY".to_owned(), "${secret:KEY}".to_owned())].into(),
            cwd: None,
            streams: Default::default(),
        },
        enabled: false,
        ..draft("Mine", Builtin::Time)
    };
    let value = RequestSecret::new(&gatehouse_model::Secret::new("very secret"));
    let secrets = vec![FieldSecret { field: "env/KEY".into(), value }];
    let mine =
        run(&core, ServersAdd { draft: secret, trust_labels: false, secrets, run: None }).await.unwrap();
    let key = gatehouse_store::SecretKey::for_server_field(&mine.config.binding(), "env/KEY");
    assert!(home.secrets.get(&key).unwrap().is_some());
    run(&core, PolicyAutoApprove { server: Some("Time".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    run(&core, ServersStop { server: "Notes".into(), disable: true }).await.unwrap();
    let file = std::fs::read_to_string(home.servers_file()).unwrap();

    let refused = core.run(&ServersReset {}, Authority::Anyone).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    let after = run(&core, ServersReset {}).await.unwrap();
    let mut names: Vec<_> = after.iter().map(|view| view.config.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Notes", "Time"]);
    for name in ["Time", "Notes"] {
        let view = wait_until_state(&core, name, "connected").await;
        assert!(view.config.enabled && view.auto_approve.is_empty(), "{view:?}");
    }
    assert_eq!(server(&core, "Notes").await.unwrap().config.id, notes.config.id, "it is the same one");
    assert!(home.secrets.get(&key).unwrap().is_none(), "its secrets went too");
    assert!(run(&core, PolicyShow {}).await.unwrap().rules.is_empty(), "and its permissions");
    let backup = std::fs::read_to_string(home.data_dir().join("servers.json.bak")).unwrap();
    assert_eq!(backup, file);
    let told = entries(&core).await;
    let what = |wanted: &str| {
        let is = |entry: &&AuditEntryView| matches!(&entry.event, AuditEvent::ServerChanged { what, .. } if what == wanted);
        told.iter().filter(is).count()
    };
    assert_eq!(what("removed"), 3, "Time, the other Time and Mine: {told:?}");
    core.shutdown().await;

    let core = home.start().await;
    assert_eq!(servers(&core).await.len(), 2);
    core.shutdown().await;
}
