//! A server that defines the same tool in another way from start to start (PERM-8). These servers are real
//! children, so time is real.

use gatehouse_model::GrantChoice;
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_tools::RuleSpec;

use crate::harness::*;
use crate::upstream::{changed, fingerprint, tool, with_tools, write_tools};

const KIND: &str = "Acts kindly.";
const GENTLE: &str = "Acts gently.";
const BAD: &str = "Acts badly.";

/// Lets the server define its tool in other words, and waits until that is known.
async fn define(harness: &ToolsHarness, folder: &tempfile::TempDir, words: &str) {
    let before = fingerprint(harness);
    write_tools(folder.path(), &format!("[{}]", tool("act", words, "echo")));
    changed(harness, &before, words).await;
}

async fn auto_approve(harness: &ToolsHarness, to: AutoApprove) {
    harness.tools.permissions().set_auto_approve(&"script".into(), to).await.unwrap();
}

fn approved_versions(harness: &ToolsHarness) -> u32 {
    harness.tools.permissions().tool_views().remove(0).approved_versions
}

/// Allows one call by an answer to its approval request.
async fn allow_call(harness: &ToolsHarness, lifetime: ChoiceLifetime) {
    let running = harness.spawn_call("act", "{}");
    let approval = harness.approval().await;
    let answer = match lifetime {
        ChoiceLifetime::Once => once(),
        lasting => allow(lasting, ChoiceScope::Tool),
    };
    harness.answer(&approval, answer).await.unwrap();
    assert!(!is_error(&running.result().await));
}

#[tokio::test]
async fn every_approved_definition_is_remembered_until_the_grant_is_revoked() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", KIND, "echo"))).await;
    auto_approve(&harness, AutoApprove::All).await;
    assert_eq!(approved_versions(&harness), 1);
    define(&harness, &folder, GENTLE).await;
    assert!(!harness.is_allowed("act", "{}").await, "nobody approved this version");
    auto_approve(&harness, AutoApprove::All).await;

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_server(scripted("script", folder.path())).await;
    for words in [KIND, GENTLE, KIND] {
        define(&harness, &folder, words).await;
        assert!(harness.is_allowed("act", "{}").await, "{words}");
    }
    assert_eq!(approved_versions(&harness), 2);
    let rules = harness.tools.permissions().view().rules;
    assert_eq!(rules.len(), 1, "one grant has all versions: {rules:?}");

    auto_approve(&harness, AutoApprove::Ask).await;
    assert_eq!(approved_versions(&harness), 0);
    auto_approve(&harness, AutoApprove::All).await;
    define(&harness, &folder, GENTLE).await;
    assert!(!harness.is_allowed("act", "{}").await, "a revoked grant leaves nothing behind");
}

/// Tried: a server alternates between versions that were approved and one that was not, and a version that was
/// approved for a single call or a while comes again. Stopped by: a grant has the definitions that a person gave it
/// for, one by one, and an answer for less than the grant adds none.
#[tokio::test]
async fn unapproved_definition_asks_however_often_approved_ones_come_between() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", KIND, "echo"))).await;
    auto_approve(&harness, AutoApprove::All).await;
    define(&harness, &folder, GENTLE).await;
    auto_approve(&harness, AutoApprove::All).await;
    for _ in 0..2 {
        define(&harness, &folder, BAD).await;
        assert!(!harness.is_allowed("act", "{}").await);
        allow_call(&harness, ChoiceLifetime::Once).await;
        for words in [KIND, GENTLE] {
            define(&harness, &folder, words).await;
            assert!(harness.is_allowed("act", "{}").await, "{words}");
        }
    }
    assert_eq!(approved_versions(&harness), 2, "an answer for one call approves no version");

    define(&harness, &folder, BAD).await;
    allow_call(&harness, ChoiceLifetime::UntilQuit).await;
    assert!(harness.is_allowed("act", "{}").await);
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_server(scripted("script", folder.path())).await;
    assert!(!harness.is_allowed("act", "{}").await, "what lasted until the end is over");
    assert_eq!(approved_versions(&harness), 2);
}

/// The answer to the approval request that shows what changed approves the version for good.
#[tokio::test]
async fn an_answer_approves_a_changed_definition_until_its_grant_is_revoked() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", KIND, "echo"))).await;
    auto_approve(&harness, AutoApprove::All).await;
    define(&harness, &folder, GENTLE).await;
    allow_call(&harness, ChoiceLifetime::Always).await;
    define(&harness, &folder, BAD).await;
    allow_call(&harness, ChoiceLifetime::Always).await;

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_server(scripted("script", folder.path())).await;
    for words in [KIND, GENTLE, BAD, KIND] {
        define(&harness, &folder, words).await;
        assert!(harness.is_allowed("act", "{}").await, "{words}");
    }
    let rules = harness.tools.permissions().view().rules;
    let of_tool: Vec<_> =
        rules.iter().filter(|view| matches!(view.rule.width, gatehouse_model::Scope::Tool { .. })).collect();
    assert_eq!(
        (rules.len(), of_tool.len()),
        (2, 1),
        "the second answer adds to the first one's grant: {rules:?}"
    );
    harness.tools.permissions().revoke(&of_tool[0].rule.id).await.unwrap();
    assert!(harness.is_allowed("act", "{}").await, "the wide grant was not touched");
    define(&harness, &folder, GENTLE).await;
    assert!(!harness.is_allowed("act", "{}").await, "what the answers approved is revoked");
}

/// Tried: a server hides what it changed behind so much text that the approval request shows only a part of it. Stopped by:
/// only what is shown in whole can be approved for good.
#[tokio::test]
async fn change_that_is_not_shown_in_whole_is_not_approved_for_good() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", KIND, "echo"))).await;
    auto_approve(&harness, AutoApprove::All).await;
    define(&harness, &folder, &format!("{GENTLE} {}{BAD}", " ".repeat(10_000))).await;
    let running = harness.spawn_call("act", "{}");
    let approval = harness.approval().await;
    let shown = call_approval(&approval);
    assert!(!shown.changes.is_empty(), "{shown:?}");
    assert!(shown.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always), "{shown:?}");
    assert!(harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.is_err());
    harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&running.result().await));
}

/// Tried: a grant for one tool is used to carry a version of another client's or another scope's grant along.
/// Stopped by: only the same grant, given again, keeps its versions.
#[tokio::test]
async fn versions_stay_with_the_grant_they_were_approved_for() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", KIND, "echo"))).await;
    auto_approve(&harness, AutoApprove::All).await;
    define(&harness, &folder, GENTLE).await;
    let choice = GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, ChoiceScope::Tool) };
    let order =
        RuleSpec { server: Some("script".into()), tool: Some("act".to_owned()), client: None, choice };
    let narrow = harness.tools.permissions().grant(order).await.unwrap();
    assert!(harness.is_allowed("act", "{}").await);
    auto_approve(&harness, AutoApprove::Ask).await;
    define(&harness, &folder, KIND).await;
    assert!(!harness.is_allowed("act", "{}").await, "the narrow grant has only its own version");
    define(&harness, &folder, GENTLE).await;
    assert!(harness.is_allowed("act", "{}").await);
    harness.tools.permissions().revoke(&narrow).await.unwrap();
    assert!(!harness.is_allowed("act", "{}").await);
}
