//! What lasts: grants, blocks, classes, and rights that cannot be believed (PERM-2 to 4, 6, 14, 16).

use std::sync::Arc;

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{AccessClass, AccessOverride, StoredPermissions, SuspendedPermissions};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ErrorCode, GrantChoice, Lifetime, RuleAuthor};
use gatehouse_tools::{ApprovalLimits, LabelTrust, Peer, RuleSpec};

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;

fn order(tool: Option<&str>, width: ChoiceScope) -> RuleSpec {
    RuleSpec {
        server: Some("notes".into()),
        tool: tool.map(ToOwned::to_owned),
        client: None,
        choice: GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, width) },
    }
}

#[tokio::test(start_paused = true)]
async fn always_grant_survives_restart_and_revocation_is_immediate() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    assert!(!is_error(&call.result().await));
    assert!(harness.is_allowed("add_note", r#"{"text":"eggs"}"#).await);
    let view = harness.tools.permissions().view();
    assert!(view.verified);
    assert_eq!(said(&view.rules[0].sentence), "Always allow notes: add_note, for Claude");
    assert_eq!(harness.tools.permissions().auto_approve(&"notes".into()), ["add_note (for Claude)"]);

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert!(harness.is_allowed("add_note", MILK).await);
    let rule = harness.tools.permissions().view().rules[0].rule.id.clone();
    assert_eq!(harness.tools.permissions().unblock(&rule).await.unwrap_err().code, ErrorCode::BadRequest);
    harness.tools.permissions().revoke(&rule).await.unwrap();
    assert!(!harness.is_allowed("add_note", MILK).await);
    assert_eq!(harness.tools.permissions().revoke(&rule).await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::Granted { .. })), 1);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::Revoked { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn temporary_grants_expire() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::QuarterHour, ChoiceScope::Tool)).await.unwrap();
    call.result().await;
    tokio::time::sleep(std::time::Duration::from_secs(800)).await;
    assert!(harness.is_allowed("add_note", MILK).await);
    tokio::time::sleep(std::time::Duration::from_secs(101)).await;
    assert!(!harness.is_allowed("add_note", MILK).await);

    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::UntilQuit, ChoiceScope::Server)).await.unwrap();
    call.result().await;
    assert!(harness.is_allowed("list_notes", "{}").await);
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert!(!harness.is_allowed("list_notes", "{}").await, "until quit is until quit");
}

#[tokio::test(start_paused = true)]
async fn session_grant_is_bound_to_session() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call_as(session_caller("Claude", "ses-1"), call("add_note", MILK));
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Session, ChoiceScope::Tool)).await.unwrap();
    first.result().await;
    let again = harness.spawn_call_as(session_caller("Claude", "ses-1"), call("add_note", MILK));
    assert!(!is_error(&again.result().await));
    let other = harness.spawn_call_as(session_caller("Claude", "ses-2"), call("add_note", MILK));
    let approval = harness.approval().await;
    harness.answer(&approval, deny_once(None)).await.unwrap();
    other.result().await;
    harness.tools.session_ended(&"ses-1".into());
    let after = harness.spawn_call_as(session_caller("Claude", "ses-1"), call("add_note", MILK));
    harness.approval().await;
    drop(after);
}

#[tokio::test(start_paused = true)]
async fn trusted_labels_allow_reads_only() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let permissions = harness.tools.permissions();
    permissions.set_auto_approve(&"notes".into(), AutoApprove::Reads).await.unwrap();
    assert!(!harness.is_allowed("list_notes", "{}").await, "an untrusted label makes no read");
    permissions.trust_labels(LabelTrust::of(&"notes".into(), true, "operator")).await.unwrap();
    permissions.set_auto_approve(&"notes".into(), AutoApprove::Reads).await.unwrap();
    assert!(harness.is_allowed("list_notes", "{}").await);
    assert!(!harness.is_allowed("add_note", MILK).await);
    permissions.trust_labels(LabelTrust::of(&"notes".into(), false, "operator")).await.unwrap();
    assert!(!harness.is_allowed("list_notes", "{}").await);
    permissions.classify(&"notes".into(), "list_notes", Some(AccessClass::Read)).await.unwrap();
    assert!(harness.is_allowed("list_notes", "{}").await, "the user's own word counts");
    assert_eq!(permissions.auto_approve(&"notes".into()), ["read"]);
}

#[tokio::test(start_paused = true)]
async fn auto_approve_list_reflects_grants() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let permissions = harness.tools.permissions();
    permissions.grant(order(Some("add_note"), ChoiceScope::Tool)).await.unwrap();
    permissions.set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert_eq!(permissions.auto_approve(&"notes".into()), ["add_note", "all"]);
    assert!(harness.is_allowed("list_notes", "{}").await);
    permissions.set_auto_approve(&"notes".into(), AutoApprove::Writes).await.unwrap();
    assert_eq!(permissions.auto_approve(&"notes".into()), ["add_note", "write"]);
    permissions.set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    assert_eq!(permissions.auto_approve(&"notes".into()), ["add_note"]);
    assert!(harness.is_allowed("add_note", MILK).await);
    let missing = permissions.grant(order(Some("no_such_tool"), ChoiceScope::Tool)).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
    let mut once = order(Some("add_note"), ChoiceScope::Tool);
    once.choice = GrantChoice::once();
    assert_eq!(permissions.grant(once).await.unwrap_err().code, ErrorCode::BadRequest);
}

#[tokio::test(start_paused = true)]
async fn block_applies_to_waiting_calls() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    let list = order(Some("list_notes"), ChoiceScope::Tool);
    let rule =
        harness.tools.permissions().deny(list, Some("private".into()), Authority::Operator).await.unwrap();
    let end = harness.call("list_notes", "{}").await;
    assert!(is_error(&end) && text(&end).contains("private"), "{end}");
    assert_eq!(harness.tools.permissions().revoke(&rule).await.unwrap_err().code, ErrorCode::BadRequest);
    harness.tools.permissions().unblock(&rule).await.unwrap();
    assert!(harness.is_allowed("list_notes", "{}").await);

    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    let waiting = harness.spawn_call("add_note", MILK);
    let first = harness.spawn_call("delete_note", r#"{"id":"1"}"#);
    let approvals = harness.approvals(2).await;
    let second =
        approvals.iter().find(|approval| call_approval(approval).exposed_name == "delete_note").unwrap();
    harness.answer(second, block(ChoiceLifetime::UntilQuit, ChoiceScope::Client)).await.unwrap();
    assert!(is_error(&first.result().await));
    assert!(is_error(&waiting.result().await), "everything from this client");
    assert!(harness.tools.approvals().pending().is_empty());
}

/// Who made each rule and whether it is for good; those that are come first. A note says where it may not be a person.
fn authors(harness: &ToolsHarness) -> Vec<(RuleAuthor, bool)> {
    let rules = harness.tools.permissions().view().rules;
    assert!(rules.iter().all(|view| view.note.is_some() == (view.rule.author != RuleAuthor::Person)));
    rules.into_iter().map(|view| (view.rule.author, view.rule.lifetime == Lifetime::Always)).collect()
}

#[tokio::test(start_paused = true)]
async fn block_without_operator_key_is_marked_and_replaces_only_similar_blocks() {
    use ChoiceLifetime::{Always, QuarterHour, UntilQuit};
    let (person, anyone) = (RuleAuthor::Person, RuleAuthor::Unprivileged);
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let permissions = harness.tools.permissions();
    let block = async |lifetime: ChoiceLifetime, by: Authority| {
        let mut wanted = order(Some("add_note"), ChoiceScope::Tool);
        wanted.choice.lifetime = lifetime;
        permissions.deny(wanted, None, by).await.unwrap()
    };
    let first = block(QuarterHour, Authority::Anyone).await;
    // Repeating it is no rule and no entry each time.
    tokio::time::sleep(std::time::Duration::from_secs(50)).await;
    assert_eq!(block(QuarterHour, Authority::Client).await, first);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_ne!(block(QuarterHour, Authority::Anyone).await, first);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::Granted { .. })), 2);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::Revoked { rule } if *rule == first)), 1);
    for (lifetime, by, then) in [
        (UntilQuit, Authority::Anyone, vec![(anyone, false)]),
        (QuarterHour, Authority::Anyone, vec![(anyone, false)]),
        (QuarterHour, Authority::Operator, vec![(anyone, false), (person, false)]),
        (UntilQuit, Authority::Operator, vec![(person, false)]),
        (UntilQuit, Authority::Anyone, vec![(person, false)]),
        (Always, Authority::Anyone, vec![(anyone, true), (person, false)]),
    ] {
        block(lifetime, by).await;
        assert_eq!(authors(&harness), then, "{lifetime:?} {by:?}");
    }

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    assert_eq!(authors(&harness), [(anyone, true)], "the mark is not kept");
    harness.start_notes_server().await;
    let always = order(Some("add_note"), ChoiceScope::Tool);
    let own = harness.tools.permissions().deny(always.clone(), None, Authority::Operator).await.unwrap();
    assert_eq!(authors(&harness), [(person, true)]);
    assert_eq!(harness.tools.permissions().deny(always, None, Authority::Anyone).await.unwrap(), own);
    assert_eq!(authors(&harness), [(person, true)]);
}

#[tokio::test(start_paused = true)]
async fn confirmed_rules_are_marked_and_audited() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let permissions = harness.tools.permissions();
    let kept = permissions.grant(order(Some("add_note"), ChoiceScope::Tool)).await.unwrap();
    let left = permissions.grant(order(Some("list_notes"), ChoiceScope::Tool)).await.unwrap();
    let stored = harness.store.permissions().load().unwrap().unwrap();
    let server = stored.rules[0].server.clone().unwrap();
    let class =
        AccessOverride { server: server.clone(), tool: "delete_note".into(), class: AccessClass::Read };
    let (overrides, trusted_labels) = (vec![class], vec![server]);
    let suspended = SuspendedPermissions { rules: stored.rules, overrides, trusted_labels };
    let sealed = StoredPermissions { suspended, ..StoredPermissions::default() };
    for chosen in [Some(vec![kept.clone()]), None] {
        let harness = ToolsHarness::new().await;
        harness.store.permissions().overwrite(&sealed).unwrap();
        let secrets = harness.secrets.clone();
        let harness = harness.restart(secrets).await;
        assert!(harness.tools.permissions().has_suspended());
        harness.tools.permissions().confirm(chosen.clone()).await.unwrap();
        let rules = harness.tools.permissions().view().rules;
        let ids: Vec<_> = rules.iter().map(|view| &view.rule.id).collect();
        let all = chosen.is_none();
        assert_eq!(ids, if all { vec![&kept, &left] } else { vec![&kept] });
        for view in &rules {
            let is_marked = matches!(view.rule.author, RuleAuthor::Confirmed { .. });
            assert!(is_marked && view.note.as_ref().is_some_and(|note| said(note).contains("confirmed on")));
            let named =
                |event: &AuditEvent| matches!(event, AuditEvent::Granted { rule } if **rule == view.rule);
            assert_eq!(harness.audit(named), 1, "{view:?}");
        }
        let revoked = |event: &AuditEvent| matches!(event, AuditEvent::Revoked { rule } if *rule == left);
        assert_eq!(harness.audit(revoked), usize::from(!all));
        let class = |event: &AuditEvent| matches!(event, AuditEvent::ClassSet { now: Some(_), .. });
        assert_eq!(harness.audit(class), usize::from(all));
        let labels = |event: &AuditEvent| matches!(event, AuditEvent::LabelsTrusted { trusted: true, .. });
        assert_eq!(harness.audit(labels), usize::from(all));
        // Also after a restart.
        let secrets = harness.secrets.clone();
        let harness = harness.restart(secrets).await;
        assert_eq!(harness.tools.permissions().view().rules, rules);
    }
}

async fn on_keychain(keychain: &Arc<Keychain>) -> ToolsHarness {
    let harness =
        ToolsHarness::on(Arc::new(tempfile::tempdir().unwrap()), keychain.clone(), ApprovalLimits::default())
            .await;
    harness.start_notes_server().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(harness.is_allowed("add_note", MILK).await);
    harness
}

#[tokio::test(start_paused = true)]
async fn unverified_permissions_ask_for_everything() {
    let harness = on_keychain(&Arc::default()).await;
    // Another keychain: the key of the seal is gone.
    let harness = harness.restart(Arc::new(Keychain::default())).await;
    harness.start_notes_server().await;
    let view = harness.tools.permissions().view();
    assert!(!view.verified && view.problem.is_some() && view.rules.is_empty());
    assert!(harness.audit(|event| matches!(event, AuditEvent::PermissionsRejected { .. })) >= 1);
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    assert_eq!(
        offered(&call_approval(&approval).choices),
        [GrantChoice::once()],
        "nothing lasting is promised"
    );
    let denials = offered(&call_approval(&approval).denials);
    assert!(denials.iter().any(|choice| choice.lifetime == ChoiceLifetime::Always), "{denials:?}");
    harness.allow(&approval).await;
    assert!(!is_error(&call.result().await));
    assert!(!harness.is_allowed("add_note", MILK).await);
    // What the user allows from here on is sealed anew.
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(harness.tools.permissions().view().verified);
    assert!(harness.is_allowed("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn locked_keychain_allows_and_shows_nothing_until_unlocked() {
    let keychain: Arc<Keychain> = Arc::default();
    let harness = on_keychain(&keychain).await;
    keychain.lock(true);
    let harness = harness.restart(keychain.clone()).await;
    harness.start_notes_server().await;
    assert!(!harness.tools.permissions().view().verified);
    // Nor is it known whether the client has a profile, and what that hides.
    assert_eq!(harness.call("add_note", MILK).await["error"]["code"], -32602);
    let refused = harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await;
    assert_eq!(
        refused.unwrap_err().code,
        ErrorCode::SecretsUnavailable,
        "what is locked is not written over"
    );
    keychain.lock(false);
    assert!(harness.is_allowed("add_note", r#"{"text":"eggs"}"#).await);
    assert!(harness.tools.permissions().view().verified);
}

#[tokio::test(start_paused = true)]
async fn unsaved_allow_does_not_take_effect() {
    let keychain: Arc<Keychain> = Arc::default();
    let harness = on_keychain(&keychain).await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    keychain.lock(true);
    let always = allow(ChoiceLifetime::Always, ChoiceScope::Tool);
    assert!(harness.answer(&approval, always.clone()).await.is_err());
    assert!(!call.end.is_finished());
    assert!(harness.tools.permissions().view().rules.is_empty());
    let block = order(Some("add_note"), ChoiceScope::Tool);
    assert!(harness.tools.permissions().deny(block, None, Authority::Operator).await.is_err());
    assert!(is_error(&call.result().await), "a block counts all the same");
    keychain.lock(false);
    assert!(is_error(&harness.call("add_note", MILK).await));
}

#[tokio::test(start_paused = true)]
async fn removed_or_edited_server_loses_permissions() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    harness
        .tools
        .permissions()
        .trust_labels(LabelTrust::of(&"notes".into(), true, "operator"))
        .await
        .unwrap();
    let edited = gatehouse_model::ServerConfig {
        generation: gatehouse_model::Generation(2),
        ..builtin("notes", Builtin::Notes)
    };
    harness.start_server(edited.clone()).await;
    harness
        .wait_until(|harness| harness.tools.catalog().tools().iter().any(|tool| tool.generation().0 == 2))
        .await;
    assert!(!harness.is_allowed("add_note", MILK).await, "another generation is another server");
    harness.wait_until(|harness| harness.tools.permissions().view().rules.is_empty()).await;

    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    harness.servers.remove(&"notes".into()).await;
    harness.wait_until(|harness| harness.tools.permissions().view().rules.is_empty()).await;
    assert!(harness.tools.catalog().tools().is_empty());
    harness.start_server(edited).await;
    assert!(!harness.is_allowed("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn revoked_client_loses_calls_and_rules() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    call.result().await;
    let waiting = harness.spawn_call("list_notes", "{}");
    harness.approval().await;
    harness.tools.client_gone(&"Claude".into());
    assert!(is_error(&waiting.result().await));
    assert!(harness.tools.approvals().pending().is_empty());
    harness.wait_until(|harness| harness.tools.permissions().view().rules.is_empty()).await;
    assert!(is_error(&harness.call("add_note", MILK).await));
}

/// An interpreter that was started with options may run anything: it never has what was allowed to a program, and
/// nothing that lasts is allowed to it.
#[tokio::test(start_paused = true)]
async fn unknown_program_gets_no_program_grant() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call_1 = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    call_1.result().await;
    // A program may also keep out of sight.
    for peer in [unknown_peer("/usr/bin/test", 1000), Peer::unseen()] {
        let unknown = gatehouse_tools::Caller { peer, ..caller("Claude") };
        let running = harness.spawn_call_as(unknown, call("add_note", r#"{"text":"x"}"#));
        let approval = harness.approval().await;
        let asked = call_approval(&approval);
        let warned = asked.warnings.contains(&gatehouse_model::approval::Warning::UnknownProgram);
        assert!(warned, "{:?}", asked.warnings);
        assert_eq!(offered(&asked.choices), [GrantChoice::once()], "something lasting is offered");
        for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit, ChoiceLifetime::QuarterHour] {
            let lasting = allow(lifetime, ChoiceScope::Tool);
            assert!(
                harness.answer(&approval, lasting).await.is_err(),
                "it was allowed all the same: {lifetime:?}"
            );
        }
        harness.answer(&approval, deny_once(None)).await.unwrap();
        running.result().await;
    }
}

#[tokio::test(start_paused = true)]
async fn grant_used_from_other_program_asks() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call_1 = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    call_1.result().await;
    let other = gatehouse_tools::Caller { peer: peer("/tmp/evil"), ..caller("Claude") };
    let call_2 = harness.spawn_call_as(other, call("add_note", r#"{"text":"x"}"#));
    let approval = harness.approval().await;
    let warned = gatehouse_model::approval::Warning::OtherProgram { before: "/usr/bin/test".into() };
    assert!(call_approval(&approval).warnings.contains(&warned));
    drop(call_2);
}
