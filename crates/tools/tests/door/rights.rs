//! What lasts: grants, blocks, classes, and rights that cannot be believed (PERM-2 to 4, 6, 14, 16).

use std::sync::Arc;

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{AccessClass, AccessOverride, Rights, Suspended};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::{Builtin, Origin};
use gatehouse_model::{ErrorCode, GrantChoice, Lifetime, RuleAuthor};
use gatehouse_tools::{Patience, Peer, RuleOrder};

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;

fn order(tool: Option<&str>, width: ChoiceWidth) -> RuleOrder {
    RuleOrder {
        server: Some("notes".into()),
        tool: tool.map(ToOwned::to_owned),
        client: None,
        choice: GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, width) },
    }
}

#[tokio::test(start_paused = true)]
async fn an_always_grant_lasts_past_a_restart_and_a_revocation_counts_at_once() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    assert!(!is_error(&call.ended().await));
    assert!(house.passes("add_note", r#"{"text":"eggs"}"#).await);
    let view = house.tools.rights().view();
    assert!(view.verified);
    assert_eq!(said(&view.rules[0].sentence), "Always allow notes: add_note, for Claude");
    assert_eq!(house.tools.rights().auto_approve(&"notes".into()), ["add_note (for Claude)"]);

    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert!(house.passes("add_note", MILK).await);
    let rule = house.tools.rights().view().rules[0].rule.id.clone();
    assert_eq!(house.tools.rights().unblock(&rule).await.unwrap_err().code, ErrorCode::BadRequest);
    house.tools.rights().revoke(&rule).await.unwrap();
    assert!(!house.passes("add_note", MILK).await);
    assert_eq!(house.tools.rights().revoke(&rule).await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(house.audit(|event| matches!(event, AuditEvent::Granted { .. })), 1);
    assert_eq!(house.audit(|event| matches!(event, AuditEvent::Revoked { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_allowed_for_a_while_ends() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::QuarterHour, ChoiceWidth::Tool)).await.unwrap();
    call.ended().await;
    tokio::time::sleep(std::time::Duration::from_secs(800)).await;
    assert!(house.passes("add_note", MILK).await);
    tokio::time::sleep(std::time::Duration::from_secs(101)).await;
    assert!(!house.passes("add_note", MILK).await);

    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::UntilQuit, ChoiceWidth::Server)).await.unwrap();
    call.ended().await;
    assert!(house.passes("list_notes", "{}").await);
    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert!(!house.passes("list_notes", "{}").await, "until quit is until quit");
}

#[tokio::test(start_paused = true)]
async fn a_session_grant_is_for_that_session() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin_as(in_session("Claude", "ses-1"), call("add_note", MILK));
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Session, ChoiceWidth::Tool)).await.unwrap();
    first.ended().await;
    let again = house.begin_as(in_session("Claude", "ses-1"), call("add_note", MILK));
    assert!(!is_error(&again.ended().await));
    let other = house.begin_as(in_session("Claude", "ses-2"), call("add_note", MILK));
    let question = house.question().await;
    house.answer(&question, no(None)).await.unwrap();
    other.ended().await;
    house.tools.session_ended(&"ses-1".into());
    let after = house.begin_as(in_session("Claude", "ses-1"), call("add_note", MILK));
    house.question().await;
    drop(after);
}

#[tokio::test(start_paused = true)]
async fn reads_run_unasked_once_labels_are_trusted_and_writes_still_ask() {
    let house = House::new().await;
    house.notes().await;
    let rights = house.tools.rights();
    rights.set_auto_approve(&"notes".into(), AutoApprove::Reads).await.unwrap();
    assert!(!house.passes("list_notes", "{}").await, "an untrusted label makes no read");
    rights.trust_labels(&"notes".into(), true).await.unwrap();
    rights.set_auto_approve(&"notes".into(), AutoApprove::Reads).await.unwrap();
    assert!(house.passes("list_notes", "{}").await);
    assert!(!house.passes("add_note", MILK).await);
    rights.trust_labels(&"notes".into(), false).await.unwrap();
    assert!(!house.passes("list_notes", "{}").await);
    rights.classify(&"notes".into(), "list_notes", Some(AccessClass::Read)).await.unwrap();
    assert!(house.passes("list_notes", "{}").await, "the user's own word counts");
    assert_eq!(rights.auto_approve(&"notes".into()), ["read"]);
}

#[tokio::test(start_paused = true)]
async fn the_auto_approve_list_is_a_view_of_the_grants() {
    let house = House::new().await;
    house.notes().await;
    let rights = house.tools.rights();
    rights.grant(order(Some("add_note"), ChoiceWidth::Tool)).await.unwrap();
    rights.set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert_eq!(rights.auto_approve(&"notes".into()), ["add_note", "all"]);
    assert!(house.passes("list_notes", "{}").await);
    rights.set_auto_approve(&"notes".into(), AutoApprove::Writes).await.unwrap();
    assert_eq!(rights.auto_approve(&"notes".into()), ["add_note", "write"]);
    rights.set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    assert_eq!(rights.auto_approve(&"notes".into()), ["add_note"]);
    assert!(house.passes("add_note", MILK).await);
    let missing = rights.grant(order(Some("no_such_tool"), ChoiceWidth::Tool)).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
    let mut once = order(Some("add_note"), ChoiceWidth::Tool);
    once.choice = GrantChoice::once();
    assert_eq!(rights.grant(once).await.unwrap_err().code, ErrorCode::BadRequest);
}

#[tokio::test(start_paused = true)]
async fn a_block_counts_at_once_also_for_what_waits() {
    let house = House::new().await;
    house.notes().await;
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    let list = order(Some("list_notes"), ChoiceWidth::Tool);
    let rule = house.tools.rights().deny(list, Some("private".into()), Authority::Operator).await.unwrap();
    let end = house.call("list_notes", "{}").await;
    assert!(is_error(&end) && text(&end).contains("private"), "{end}");
    assert_eq!(house.tools.rights().revoke(&rule).await.unwrap_err().code, ErrorCode::BadRequest);
    house.tools.rights().unblock(&rule).await.unwrap();
    assert!(house.passes("list_notes", "{}").await);

    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    let waiting = house.begin("add_note", MILK);
    let first = house.begin("delete_note", r#"{"id":"1"}"#);
    let questions = house.questions(2).await;
    let second = questions.iter().find(|question| about(question).exposed_name == "delete_note").unwrap();
    house.answer(second, block(ChoiceLifetime::UntilQuit, ChoiceWidth::Client)).await.unwrap();
    assert!(is_error(&first.ended().await));
    assert!(is_error(&waiting.ended().await), "everything from this client");
    assert!(house.tools.approvals().pending().is_empty());
}

/// Who made each rule and whether it is for good; those that are come first. A note says where it may not be a person.
fn authors(house: &House) -> Vec<(RuleAuthor, bool)> {
    let rules = house.tools.rights().view().rules;
    assert!(rules.iter().all(|view| view.note.is_some() == (view.rule.author != RuleAuthor::Person)));
    rules.into_iter().map(|view| (view.rule.author, view.rule.lifetime == Lifetime::Always)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_block_without_the_key_is_marked_and_replaces_only_its_like() {
    use ChoiceLifetime::{Always, QuarterHour, UntilQuit};
    let (person, anyone) = (RuleAuthor::Person, RuleAuthor::Unprivileged);
    let house = House::new().await;
    house.notes().await;
    let rights = house.tools.rights();
    let block = async |lifetime: ChoiceLifetime, by: Authority| {
        let mut wanted = order(Some("add_note"), ChoiceWidth::Tool);
        wanted.choice.lifetime = lifetime;
        rights.deny(wanted, None, by).await.unwrap()
    };
    let first = block(QuarterHour, Authority::Anyone).await;
    // Repeating it is no rule and no entry each time.
    tokio::time::sleep(std::time::Duration::from_secs(50)).await;
    assert_eq!(block(QuarterHour, Authority::Client).await, first);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_ne!(block(QuarterHour, Authority::Anyone).await, first);
    assert_eq!(house.audit(|event| matches!(event, AuditEvent::Granted { .. })), 2);
    assert_eq!(house.audit(|event| matches!(event, AuditEvent::Revoked { rule } if *rule == first)), 1);
    for (lifetime, by, then) in [
        (UntilQuit, Authority::Anyone, vec![(anyone, false)]),
        (QuarterHour, Authority::Anyone, vec![(anyone, false)]),
        (QuarterHour, Authority::Operator, vec![(anyone, false), (person, false)]),
        (UntilQuit, Authority::Operator, vec![(person, false)]),
        (UntilQuit, Authority::Anyone, vec![(person, false)]),
        (Always, Authority::Anyone, vec![(anyone, true), (person, false)]),
    ] {
        block(lifetime, by).await;
        assert_eq!(authors(&house), then, "{lifetime:?} {by:?}");
    }

    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    assert_eq!(authors(&house), [(anyone, true)], "the mark is not kept");
    house.notes().await;
    let always = order(Some("add_note"), ChoiceWidth::Tool);
    let own = house.tools.rights().deny(always.clone(), None, Authority::Operator).await.unwrap();
    assert_eq!(authors(&house), [(person, true)]);
    assert_eq!(house.tools.rights().deny(always, None, Authority::Anyone).await.unwrap(), own);
    assert_eq!(authors(&house), [(person, true)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_confirmed_is_marked_and_named_in_the_audit() {
    let house = House::new().await;
    house.notes().await;
    let rights = house.tools.rights();
    let kept = rights.grant(order(Some("add_note"), ChoiceWidth::Tool)).await.unwrap();
    let left = rights.grant(order(Some("list_notes"), ChoiceWidth::Tool)).await.unwrap();
    let stored = house.store.rights().load().unwrap().unwrap();
    let server = stored.rules[0].server.clone().unwrap();
    let class =
        AccessOverride { server: server.clone(), tool: "delete_note".into(), class: AccessClass::Read };
    let (overrides, trusted_labels) = (vec![class], vec![server]);
    let suspended = Suspended { rules: stored.rules, overrides, trusted_labels };
    let sealed = Rights { suspended, ..Rights::default() };
    for chosen in [Some(vec![kept.clone()]), None] {
        let house = House::new().await;
        house.store.rights().save_anew(&sealed).unwrap();
        let secrets = house.secrets.clone();
        let house = house.restarted(secrets).await;
        assert!(house.tools.rights().has_suspended());
        house.tools.rights().confirm(chosen.clone()).await.unwrap();
        let rules = house.tools.rights().view().rules;
        let ids: Vec<_> = rules.iter().map(|view| &view.rule.id).collect();
        let all = chosen.is_none();
        assert_eq!(ids, if all { vec![&kept, &left] } else { vec![&kept] });
        for view in &rules {
            let is_marked = matches!(view.rule.author, RuleAuthor::Confirmed { .. });
            assert!(is_marked && view.note.as_ref().is_some_and(|note| said(note).contains("confirmed on")));
            let named =
                |event: &AuditEvent| matches!(event, AuditEvent::Granted { rule } if **rule == view.rule);
            assert_eq!(house.audit(named), 1, "{view:?}");
        }
        let revoked = |event: &AuditEvent| matches!(event, AuditEvent::Revoked { rule } if *rule == left);
        assert_eq!(house.audit(revoked), usize::from(!all));
        let class = |event: &AuditEvent| matches!(event, AuditEvent::ClassSet { now: Some(_), .. });
        assert_eq!(house.audit(class), usize::from(all));
        let labels = |event: &AuditEvent| matches!(event, AuditEvent::LabelsTrusted { trusted: true, .. });
        assert_eq!(house.audit(labels), usize::from(all));
        // Also after a restart.
        let secrets = house.secrets.clone();
        let house = house.restarted(secrets).await;
        assert_eq!(house.tools.rights().view().rules, rules);
    }
}

async fn on_keychain(keychain: &Arc<Keychain>) -> House {
    let house =
        House::on(Arc::new(tempfile::tempdir().unwrap()), keychain.clone(), Patience::default()).await;
    house.notes().await;
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(house.passes("add_note", MILK).await);
    house
}

#[tokio::test(start_paused = true)]
async fn rights_that_cannot_be_verified_are_none() {
    let house = on_keychain(&Arc::default()).await;
    // Another keychain: the key of the seal is gone.
    let house = house.restarted(Arc::new(Keychain::default())).await;
    house.notes().await;
    let view = house.tools.rights().view();
    assert!(!view.verified && view.problem.is_some() && view.rules.is_empty());
    assert!(house.audit(|event| matches!(event, AuditEvent::RightsRejected { .. })) >= 1);
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    assert_eq!(offered(&about(&question).choices), [GrantChoice::once()], "nothing lasting is promised");
    let denials = offered(&about(&question).denials);
    assert!(denials.iter().any(|choice| choice.lifetime == ChoiceLifetime::Always), "{denials:?}");
    house.allow(&question).await;
    assert!(!is_error(&call.ended().await));
    assert!(!house.passes("add_note", MILK).await);
    // What the user allows from here on is sealed anew.
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(house.tools.rights().view().verified);
    assert!(house.passes("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn a_locked_keychain_asks_for_everything_until_it_is_open() {
    let keychain: Arc<Keychain> = Arc::default();
    let house = on_keychain(&keychain).await;
    keychain.lock(true);
    let house = house.restarted(keychain.clone()).await;
    house.notes().await;
    assert!(!house.tools.rights().view().verified);
    let call = house.begin("add_note", MILK);
    house.question().await;
    let refused = house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await;
    assert_eq!(
        refused.unwrap_err().code,
        ErrorCode::SecretsUnavailable,
        "what is locked is not written over"
    );
    keychain.lock(false);
    drop(call);
    assert!(house.passes("add_note", r#"{"text":"eggs"}"#).await);
    assert!(house.tools.rights().view().verified);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_down_does_not_count() {
    let keychain: Arc<Keychain> = Arc::default();
    let house = on_keychain(&keychain).await;
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::Ask).await.unwrap();
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    keychain.lock(true);
    let always = allow(ChoiceLifetime::Always, ChoiceWidth::Tool);
    assert!(house.answer(&question, always.clone()).await.is_err());
    assert!(!call.end.is_finished());
    assert!(house.tools.rights().view().rules.is_empty());
    let block = order(Some("add_note"), ChoiceWidth::Tool);
    assert!(house.tools.rights().deny(block, None, Authority::Operator).await.is_err());
    assert!(is_error(&call.ended().await), "a block counts all the same");
    keychain.lock(false);
    assert!(is_error(&house.call("add_note", MILK).await));
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_server_is_offered_nothing_for_always() {
    let house = House::new().await;
    house
        .serve(gatehouse_model::ServerConfig { origin: Origin::Link, ..builtin("notes", Builtin::Notes) })
        .await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    assert!(about(&question).choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    drop(call);
}

#[tokio::test(start_paused = true)]
async fn a_removed_or_edited_server_keeps_no_rights() {
    let house = House::new().await;
    house.notes().await;
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    house.tools.rights().trust_labels(&"notes".into(), true).await.unwrap();
    let edited = gatehouse_model::ServerConfig {
        generation: gatehouse_model::Generation(2),
        ..builtin("notes", Builtin::Notes)
    };
    house.serve(edited.clone()).await;
    house.until(|house| house.tools.catalogue().tools().iter().any(|tool| tool.generation().0 == 2)).await;
    assert!(!house.passes("add_note", MILK).await, "another generation is another server");
    house.until(|house| house.tools.rights().view().rules.is_empty()).await;

    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    house.servers.remove(&"notes".into()).await;
    house.until(|house| house.tools.rights().view().rules.is_empty()).await;
    assert!(house.tools.catalogue().tools().is_empty());
    house.serve(edited).await;
    assert!(!house.passes("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_access_ended_leaves_nothing_behind() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    call.ended().await;
    let waiting = house.begin("list_notes", "{}");
    house.question().await;
    house.tools.client_gone(&"Claude".into());
    assert!(is_error(&waiting.ended().await));
    assert!(house.tools.approvals().pending().is_empty());
    house.until(|house| house.tools.rights().view().rules.is_empty()).await;
    assert!(is_error(&house.call("add_note", MILK).await));
}

/// An interpreter that was started with options may run anything: it never has what was allowed to a program, and
/// nothing that lasts is allowed to it.
#[tokio::test(start_paused = true)]
async fn an_unknown_program_has_no_grant_of_a_program() {
    let house = House::new().await;
    house.notes().await;
    let call_1 = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    call_1.ended().await;
    // A program may also keep out of sight.
    for peer in [unknown_peer("/usr/bin/test", 1000), Peer::unseen()] {
        let unknown = gatehouse_tools::Caller { peer, ..caller("Claude") };
        let running = house.begin_as(unknown, call("add_note", r#"{"text":"x"}"#));
        let question = house.question().await;
        let asked = about(&question);
        let warned = asked.warnings.contains(&gatehouse_model::ask::Warning::UnknownProgram);
        assert!(warned, "{:?}", asked.warnings);
        assert_eq!(offered(&asked.choices), [GrantChoice::once()], "something lasting is offered");
        for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit, ChoiceLifetime::QuarterHour] {
            let lasting = allow(lifetime, ChoiceWidth::Tool);
            assert!(
                house.answer(&question, lasting).await.is_err(),
                "it was allowed all the same: {lifetime:?}"
            );
        }
        house.answer(&question, no(None)).await.unwrap();
        running.ended().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_used_from_another_program_asks() {
    let house = House::new().await;
    house.notes().await;
    let call_1 = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    call_1.ended().await;
    let other = gatehouse_tools::Caller { peer: peer("/tmp/evil"), ..caller("Claude") };
    let call_2 = house.begin_as(other, call("add_note", r#"{"text":"x"}"#));
    let question = house.question().await;
    let warned = gatehouse_model::ask::Warning::OtherProgram { before: "/usr/bin/test".into() };
    assert!(about(&question).warnings.contains(&warned));
    drop(call_2);
}
