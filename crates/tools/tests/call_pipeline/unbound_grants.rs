//! Allows for one client that were given before any program was seen: their first use asks, and binds them.

use std::sync::Arc;

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope, Subject, Warning};
use gatehouse_model::grant::Scope;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, Grant, GrantId, PendingApproval, Rule};
use gatehouse_policy::rule_messages::describe_width;
use gatehouse_tools::{AutoApproveSpec, Caller, Peer, RuleSpec};

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;
const EGGS: &str = r#"{"text":"eggs"}"#;

fn from_program(path: &str) -> Caller {
    Caller { peer: peer(path), ..caller("Claude") }
}

async fn granted(harness: &ToolsHarness, lifetime: ChoiceLifetime, width: ChoiceScope) -> GrantId {
    let tool = (width == ChoiceScope::Tool).then(|| "add_note".to_owned());
    let (server, client) = (Some("notes".into()), Some("Claude".into()));
    let order = RuleSpec { server, tool, client, choice: choice(lifetime, width) };
    harness.tools.permissions().grant(order).await.unwrap()
}

fn rule(harness: &ToolsHarness, id: &GrantId) -> Grant {
    let rules = harness.tools.permissions().view().rules;
    rules.into_iter().map(|view| view.rule).find(|rule| rule.id == *id).unwrap()
}

fn bindings(harness: &ToolsHarness) -> usize {
    harness.audit(|event| matches!(event, AuditEvent::GrantBound { program: Some(_), .. }))
}

#[tokio::test(start_paused = true)]
async fn first_use_asks_and_binds() {
    for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit, ChoiceLifetime::QuarterHour] {
        let harness = ToolsHarness::new().await;
        harness.start_notes_server().await;
        let id = granted(&harness, lifetime, ChoiceScope::Tool).await;
        let waiting = harness.spawn_call("add_note", MILK);
        let approval = harness.approval().await;
        let expected = Warning::UnboundGrant {
            grant: id.clone(),
            what: describe_width(&Scope::Tool { tool: Subject::Tool { name: "add_note".into() } }),
            program: "/usr/bin/test".into(),
        };
        assert!(
            call_approval(&approval).warnings.contains(&expected),
            "{:?}",
            call_approval(&approval).warnings
        );
        harness.answer(&approval, deny_once(None)).await.unwrap();
        assert!(is_error(&waiting.result().await));
        assert_eq!((rule(&harness, &id).program, bindings(&harness)), (None, 0), "a no binds nothing");

        let waiting = harness.spawn_call("add_note", MILK);
        let approval = harness.approval().await;
        harness.allow(&approval).await;
        assert!(!is_error(&waiting.result().await));
        assert_eq!(rule(&harness, &id).program.as_deref(), Some("/usr/bin/test"), "{lifetime:?}");
        assert_eq!(bindings(&harness), 1);
        assert!(harness.is_allowed("add_note", EGGS).await, "{lifetime:?}");
        assert!(!harness.is_allowed("list_notes", "{}").await, "it is for one tool");

        let thief = harness.spawn_call_as(from_program("/tmp/thief"), call("add_note", r#"{"text":"x"}"#));
        let approval = harness.approval().await;
        let warnings = &call_approval(&approval).warnings;
        assert!(
            !warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. })),
            "{warnings:?}"
        );
        harness.answer(&approval, deny_once(None)).await.unwrap();
        assert!(is_error(&thief.result().await));
        assert_eq!(bindings(&harness), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn binding_survives_restart() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let id = granted(&harness, ChoiceLifetime::Always, ChoiceScope::Server).await;
    let waiting = harness.spawn_call("add_note", MILK);
    harness.allow(&harness.approval().await).await;
    waiting.result().await;
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert_eq!(rule(&harness, &id).program.as_deref(), Some("/usr/bin/test"));
    assert!(harness.is_allowed("add_note", EGGS).await);
    let thief = harness.spawn_call_as(from_program("/tmp/thief"), call("add_note", MILK));
    harness.approval().await;
    drop(thief);
}

/// Nothing is allowed, and nothing is bound, when it cannot be written down.
#[tokio::test(start_paused = true)]
async fn binding_requires_durable_write() {
    let keychain: Arc<Keychain> = Default::default();
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let harness = ToolsHarness::on(dir, keychain.clone(), Default::default()).await;
    harness.start_notes_server().await;
    let id = granted(&harness, ChoiceLifetime::Always, ChoiceScope::Tool).await;
    let waiting = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    keychain.lock(true);
    assert!(harness.answer(&approval, once()).await.is_err());
    assert_eq!(rule(&harness, &id).program, None);
    keychain.lock(false);
    harness.allow(&harness.approval().await).await;
    assert!(!is_error(&waiting.result().await));
    assert_eq!(rule(&harness, &id).program.as_deref(), Some("/usr/bin/test"));
}

/// A pending approval request is replaced once the grant that it shows is bound to another program, or gone.
#[tokio::test(start_paused = true)]
async fn pending_approval_is_replaced_when_grant_is_bound() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let order =
        AutoApproveSpec { server: Some("notes".into()), client: Some("Claude".into()), to: AutoApprove::All };
    harness.tools.permissions().apply_auto_approve(order).await.unwrap();
    let own_1 = harness.spawn_call("add_note", MILK);
    let first = harness.approval().await;
    let own_2 = harness.spawn_call("add_note", EGGS);
    let thief = harness.spawn_call_as(from_program("/tmp/thief"), call("add_note", r#"{"text":"x"}"#));
    let is_stolen = |approval: &PendingApproval| {
        call_approval(approval).client.seen_from.as_ref().unwrap().program.path == "/tmp/thief"
    };
    let stolen = harness.approvals(3).await.into_iter().find(is_stolen).unwrap();
    harness.allow(&first).await;
    assert!(!is_error(&own_1.result().await));
    assert!(!is_error(&own_2.result().await), "the same program is let through by the grant");
    harness
        .wait_until(|harness| harness.tools.approvals().pending().iter().all(|one| one.id != stolen.id))
        .await;
    assert_eq!(harness.answer(&stolen, once()).await.unwrap_err().code, ErrorCode::StaleAnswer);
    let anew = harness.approval().await;
    assert!(
        !call_approval(&anew).warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. }))
    );
    harness.answer(&anew, deny_once(None)).await.unwrap();
    assert!(is_error(&thief.result().await));
}

#[tokio::test(start_paused = true)]
async fn unknown_program_binds_nothing() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let id = granted(&harness, ChoiceLifetime::Always, ChoiceScope::Tool).await;
    for (text, peer) in [("a", unknown_peer("/usr/bin/test", 1000)), ("b", Peer::unseen())] {
        let arguments = format!(r#"{{"text":"{text}"}}"#);
        let unknown = Caller { peer, ..session_caller("Claude", "ses-1") };
        let waiting = harness.spawn_call_as(unknown, call("add_note", &arguments));
        let approval = harness.approval().await;
        let asked = call_approval(&approval);
        assert!(asked.warnings.contains(&Warning::UnknownProgram), "{:?}", asked.warnings);
        assert!(!asked.warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. })));
        let lasts = |lifetime| matches!(lifetime, ChoiceLifetime::Once | ChoiceLifetime::Session);
        assert!(asked.choices.iter().all(|choice| lasts(choice.lifetime) && !choice.every_client));
        harness.allow(&approval).await;
        assert!(!is_error(&waiting.result().await));
        assert_eq!(rule(&harness, &id).program, None);
    }
    harness.store.activity().flush();
    let records = harness.store.activity().list(&Default::default()).unwrap();
    assert!(records.len() >= 2, "{records:?}");
    assert!(records.iter().all(|record| matches!(record.verdict.rule, Rule::Answered { .. })));
}
