//! What runs without asking by client and on every server (PERM-3), when a rule was last used, what the
//! administrator forbids of what runs (PERM-6), and the words of a refusal (PERM-12).

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{ClientScope, Scope};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ClientId, ErrorCode, GrantChoice, Rule};
use gatehouse_tools::{AccessCall, AccessKind, AutoApproveSpec, RuleSpec};

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;
const TIME: &str = r#"{"timezone":"UTC"}"#;

fn setting(server: Option<&str>, client: Option<&str>, to: AutoApprove) -> AutoApproveSpec {
    AutoApproveSpec { server: server.map(Into::into), client: client.map(Into::into), to }
}

async fn two_servers() -> ToolsHarness {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    harness
}

/// Server, client and width of each rule.
fn rules(harness: &ToolsHarness) -> Vec<(String, Option<ClientId>, Scope)> {
    let rules = harness.tools.permissions().view().rules.into_iter().map(|view| view.rule);
    let mut rules: Vec<_> = rules
        .map(|rule| {
            let client = match rule.clients {
                ClientScope::One { client } => Some(client),
                ClientScope::Every => None,
            };
            (rule.server.unwrap().server.to_string(), client, rule.width)
        })
        .collect();
    rules.sort_by_key(|(server, client, _)| (server.clone(), client.clone()));
    rules
}

async fn runs(harness: &ToolsHarness, client: &str, tool: &str, arguments: &str) -> bool {
    let before = harness.tools.approvals().pending().len();
    let mut running = harness.spawn_call_as(caller(client), call(tool, arguments));
    tokio::select! {
        biased;
        end = &mut running.end => !is_error(&end.unwrap()),
        () = harness.wait_until(|harness| harness.tools.approvals().pending().len() > before) => {
            let asked = harness.tools.approvals().pending().pop().unwrap();
            harness.answer(&asked, deny_once(None)).await.unwrap();
            running.result().await;
            false
        }
    }
}

#[tokio::test(start_paused = true)]
async fn client_auto_approve_covers_every_server_for_that_client() {
    let harness = two_servers().await;
    let permissions = harness.tools.permissions();
    permissions.apply_auto_approve(setting(Some("notes"), None, AutoApprove::Reads)).await.unwrap();
    permissions.apply_auto_approve(setting(None, Some("Claude"), AutoApprove::All)).await.unwrap();
    let claude = || Some(ClientId::from("Claude"));
    assert_eq!(
        rules(&harness),
        [
            ("notes".into(), None, Scope::Reads),
            ("notes".into(), claude(), Scope::Everything),
            ("time".into(), claude(), Scope::Everything),
        ]
    );
    // The first use on each server asks, and binds what was set to the program that it comes from.
    for (tool, arguments) in
        [("add_note", r#"{"text":"first"}"#), ("current_time", r#"{"timezone":"Asia/Tokyo"}"#)]
    {
        let first = harness.spawn_call(tool, arguments);
        harness.allow(&harness.approval().await).await;
        assert!(!is_error(&first.result().await), "{tool}");
    }
    assert!(runs(&harness, "Claude", "add_note", MILK).await);
    assert!(runs(&harness, "Claude", "current_time", TIME).await);
    assert!(!runs(&harness, "Cursor", "add_note", MILK).await);
    assert!(!runs(&harness, "Cursor", "current_time", TIME).await);
    let set = |wanted: &str| {
        let server = wanted.to_owned();
        harness.audit(move |event| {
            matches!(event, AuditEvent::AutoApproveSet { server: of, client: Some(client), to: AutoApprove::All }
                if of.as_str() == server && client.as_str() == "Claude")
        })
    };
    assert_eq!((set("notes"), set("time")), (1, 1));

    // What was given in another way stays: for a tool, on conditions, for a while.
    let tool = RuleSpec {
        server: Some("notes".into()),
        tool: Some("add_note".into()),
        client: claude(),
        choice: choice(ChoiceLifetime::Always, ChoiceScope::Tool),
    };
    permissions.grant(tool).await.unwrap();
    let while_it_runs = RuleSpec {
        server: Some("notes".into()),
        tool: None,
        client: claude(),
        choice: choice(ChoiceLifetime::UntilQuit, ChoiceScope::Server),
    };
    let timed = permissions.grant(while_it_runs).await.unwrap();
    permissions.apply_auto_approve(setting(None, Some("Claude"), AutoApprove::Ask)).await.unwrap();
    let add_note = Scope::Tool { tool: Subject::Tool { name: "add_note".into() } };
    assert_eq!(
        rules(&harness),
        [
            ("notes".into(), None, Scope::Reads),
            ("notes".into(), claude(), add_note.clone()),
            ("notes".into(), claude(), Scope::Everything),
        ]
    );
    permissions.revoke(&timed).await.unwrap();
    assert!(!runs(&harness, "Claude", "current_time", TIME).await);

    // For every client: what is for one client stays.
    permissions.apply_auto_approve(setting(None, None, AutoApprove::Writes)).await.unwrap();
    assert_eq!(
        rules(&harness),
        [
            ("notes".into(), None, Scope::Writes),
            ("notes".into(), claude(), add_note),
            ("time".into(), None, Scope::Writes),
        ]
    );
    permissions.client_removed(&"Claude".into()).await.unwrap();
    assert_eq!(
        rules(&harness),
        [("notes".into(), None, Scope::Writes), ("time".into(), None, Scope::Writes)],
        "only what was for this client goes"
    );
}

#[tokio::test(start_paused = true)]
async fn auto_approve_is_all_or_nothing() {
    let keychain: std::sync::Arc<Keychain> = Default::default();
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let harness = ToolsHarness::on(dir, keychain.clone(), Default::default()).await;
    harness.start_notes_server().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    let permissions = harness.tools.permissions();
    keychain.lock(true);
    let all = setting(None, Some("Claude"), AutoApprove::All);
    assert!(permissions.apply_auto_approve(all).await.is_err());
    keychain.lock(false);
    assert!(rules(&harness).is_empty());
    let nowhere = setting(Some("none"), None, AutoApprove::All);
    assert_eq!(permissions.apply_auto_approve(nowhere).await.unwrap_err().code, ErrorCode::NotFound);
    assert!(rules(&harness).is_empty());
}

#[tokio::test(start_paused = true)]
async fn records_last_use_of_rules() {
    let harness = two_servers().await;
    let permissions = harness.tools.permissions();
    permissions.apply_auto_approve(setting(Some("notes"), None, AutoApprove::All)).await.unwrap();
    let last = |harness: &ToolsHarness| harness.tools.permissions().view().rules[0].last_used;
    assert_eq!(last(&harness), None);
    for text in ["a", "b"] {
        assert!(harness.is_allowed("add_note", &format!(r#"{{"text":"{text}"}}"#)).await);
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    }
    assert!(!harness.is_allowed("current_time", TIME).await);
    harness.store.activity().flush();
    let records = harness.store.activity().list(&Default::default()).unwrap();
    let newest = records.iter().find(|record| record.server.as_str() == "notes").unwrap().at;
    assert_eq!(last(&harness), Some(newest));
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    assert_eq!(last(&harness), Some(newest), "also after a restart");
}

#[tokio::test(start_paused = true)]
async fn managed_policy_refuses_running_server() {
    let harness = two_servers().await;
    let permissions = harness.tools.permissions();
    permissions.apply_auto_approve(setting(None, None, AutoApprove::All)).await.unwrap();
    assert!(harness.is_allowed("add_note", MILK).await);
    let file = harness.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"builtin":"notes"}],"reason":"Ask IT."}}"#).unwrap();
    let end = harness.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("administrator"), "{end}");
    assert!(text(&end).contains("Ask IT.") && text(&end).contains("no fault of the tool"), "{end}");
    assert!(harness.is_allowed("current_time", TIME).await, "the other server is allowed");
    harness.store.activity().flush();
    let records = harness.store.activity().list(&Default::default()).unwrap();
    let rule = &records.iter().find(|record| record.server.as_str() == "notes").unwrap().verdict.rule;
    assert!(matches!(rule, Rule::PolicyFile { reason } if reason.contains("Ask IT.")), "{rule:?}");

    // The user's own call is none of the user's business then, either.
    let own = value(harness.tools.call_for_user(&Default::default(), call("add_note", MILK)).await);
    assert!(is_error(&own), "{own}");
    std::fs::write(&file, "{").unwrap();
    let end = harness.call("current_time", TIME).await;
    assert!(is_error(&end) && text(&end).contains("cannot be read"), "{end}");
    std::fs::remove_file(&file).unwrap();
    assert!(harness.is_allowed("add_note", r#"{"text":"eggs"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn managed_policy_overrides_answer() {
    let harness = two_servers().await;
    let waiting = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    let file = harness.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"name":"notes"}]}}"#).unwrap();
    harness.allow(&approval).await;
    let end = waiting.result().await;
    assert!(is_error(&end) && text(&end).contains("administrator"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn refusal_names_the_subject() {
    let harness = two_servers().await;
    let block = RuleSpec {
        server: Some("notes".into()),
        tool: None,
        client: None,
        choice: GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, ChoiceScope::Server) },
    };
    harness.tools.permissions().deny(block, None, Authority::Operator).await.unwrap();
    for (kind, thing) in [
        (AccessKind::ReadResource, "no fault of the resource"),
        (AccessKind::GetPrompt, "no fault of the prompt"),
        (AccessKind::CompletePrompt, "no fault of the server"),
    ] {
        let access = AccessCall::new("notes".into(), kind, "it".into(), "it".into());
        let end = value(harness.tools.access(caller("Claude"), access).await);
        let words = end["error"]["message"].as_str().unwrap();
        assert!(words.contains(thing) && !words.contains("tool"), "{words}");
    }
}
