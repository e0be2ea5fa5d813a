//! The health of permissions (UI-7): what is found, narrowed and undone; and what a record tells of how its call was
//! judged (UI-5).

use std::time::Duration;

use gatehouse_model::approval::AutoApprove;
use gatehouse_model::health::FindingKind;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::verdict_trace::{PolicyCheck, RuleFit};
use gatehouse_model::{ErrorCode, GrantId};

use crate::harness::*;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A server of which everything runs without asking, by a rule that has been there for 31 days.
async fn harness_with_old_rule() -> (ToolsHarness, GrantId) {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    let rule = harness.tools.permissions().view().rules[0].rule.id.clone();
    assert!(harness.tools.permissions().health().await.unwrap().rules.is_empty());
    tokio::time::advance(DAY * 31).await;
    (harness, rule)
}

fn rule_ids(harness: &ToolsHarness) -> Vec<GrantId> {
    harness.tools.permissions().view().rules.into_iter().map(|view| view.rule.id).collect()
}

#[tokio::test(start_paused = true)]
async fn wide_rule_is_narrowed_to_what_was_used_and_widened_again() {
    let (harness, rule) = harness_with_old_rule().await;
    let permissions = harness.tools.permissions();
    assert!(harness.is_allowed("list_notes", "{}").await);
    let found = permissions.health().await.unwrap().rules;
    let [(old, FindingKind::TooWide { used, unused })] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&old.id, &used[..]), (&rule, &["list_notes".to_owned()][..]));
    assert!(unused.contains(&"add_note".to_owned()), "{unused:?}");

    let wide = permissions.of_rule(&rule);
    let narrow = permissions.narrow(&rule).await.unwrap();
    assert!(harness.is_allowed("list_notes", "{}").await);
    assert!(!harness.is_allowed("add_note", r#"{"text":"milk"}"#).await);
    assert_eq!(rule_ids(&harness), std::slice::from_ref(&narrow));
    let written = harness.audit(|event| match event {
        AuditEvent::Revoked { rule: gone } => *gone == rule,
        AuditEvent::Granted { rule: granted } => granted.id == narrow,
        _ => false,
    });
    assert_eq!(written, 2);
    assert!(permissions.health().await.unwrap().rules.is_empty());
    assert_eq!(permissions.narrow(&narrow).await.unwrap_err().code, ErrorCode::BadRequest);

    let undo = wide.replaced_by(narrow.clone());
    permissions.restore(undo.clone(), "person").await.unwrap();
    assert_eq!(rule_ids(&harness), std::slice::from_ref(&rule));
    assert!(harness.is_allowed("add_note", r#"{"text":"milk"}"#).await);
    // A second time there is nothing to bring back, and nothing goes either.
    permissions.restore(undo, "person").await.unwrap();
    assert_eq!(rule_ids(&harness), [rule]);
}

#[tokio::test(start_paused = true)]
async fn unused_rule_is_found_and_cannot_be_narrowed() {
    let (harness, rule) = harness_with_old_rule().await;
    let permissions = harness.tools.permissions();
    let found = permissions.health().await.unwrap().rules;
    assert!(matches!(&found[..], [(_, FindingKind::Unused { last_used: None })]), "{found:?}");
    assert_eq!(permissions.narrow(&rule).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(permissions.narrow(&"grt-0".into()).await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(rule_ids(&harness), [rule]);
}

#[tokio::test(start_paused = true)]
async fn servers_that_nobody_calls_are_found() {
    let (harness, _) = harness_with_old_rule().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    let unused = async || {
        let found = harness.tools.permissions().health().await.unwrap().servers;
        found.into_iter().map(|server| (server.name, server.last_call.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(unused().await, [("notes".to_owned(), false)], "the other one is new");
    assert!(harness.is_allowed("list_notes", "{}").await);
    assert!(unused().await.is_empty());
    tokio::time::advance(DAY * 31).await;
    let mut both = unused().await;
    both.sort();
    assert_eq!(both, [("notes".to_owned(), true), ("time".to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn record_tells_how_its_call_was_judged() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    assert!(!harness.is_allowed("list_notes", "{}").await);
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(harness.is_allowed("list_notes", "{}").await);
    harness.store.activity().flush();
    let records = harness.store.activity().list(&Default::default()).unwrap();
    let judged = |at: usize| {
        let checks = records[at].judged.as_ref().unwrap();
        let fits = checks.iter().flat_map(|check| &check.rules).map(|rule| rule.finding);
        (checks.last().unwrap().check, fits.collect::<Vec<_>>())
    };
    // Newest first.
    assert_eq!(judged(0), (PolicyCheck::Allows, vec![RuleFit::Decided]));
    assert_eq!(judged(1), (PolicyCheck::Default, vec![]));
}
