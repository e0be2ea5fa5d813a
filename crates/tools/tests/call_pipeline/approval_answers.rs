//! Questions and answers (PERM-1, 7, 9, 10, 12, 14).

use std::sync::Arc;

use gatehouse_model::approval::{
    ChoiceLifetime, ChoiceScope, ConfigChangeKind, ConfigChangeRequest, Warning,
};
use gatehouse_model::grant::AccessClass;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, ErrorCode, GrantChoice, OfferedChoice, SubmittedAnswer,
};

use crate::harness::*;

#[tokio::test(start_paused = true)]
async fn approval_covers_one_call() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", r#"{"text":"milk"}"#);
    let approval = harness.approval().await;
    let call_approval = call_approval(&approval);
    assert_eq!((call_approval.client.name.as_str(), call_approval.server.name.as_str()), ("Claude", "notes"));
    assert_eq!(
        (call_approval.title.as_str(), call_approval.exposed_name.as_str()),
        ("Add a note", "add_note")
    );
    assert_eq!(call_approval.arguments.as_deref().unwrap().len(), 1);
    assert_eq!(call_approval.arguments.as_deref().unwrap()[0].name, "text");
    assert!(approval.waiting);
    assert!(call_approval.warnings.contains(&Warning::FirstUse));
    harness.allow(&approval).await;
    assert!(!is_error(&first.result().await));
    assert!(harness.tools.approvals().pending().is_empty());
    let again = harness.spawn_call("add_note", r#"{"text":"milk"}"#);
    let approval = harness.approval().await;
    assert!(!crate::harness::call_approval(&approval).warnings.contains(&Warning::FirstUse));
    harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&again.result().await), "once is once");
    assert!(!harness.is_allowed("add_note", r#"{"text": "milk"}"#).await, "other bytes are another call");
    let by_whom = |event: &AuditEvent| matches!(event, AuditEvent::Decided { allowed: true, by, .. } if by.as_deref() == Some("test"));
    assert_eq!(harness.audit(by_whom), 1);
}

#[tokio::test(start_paused = true)]
async fn denial_returns_reason_to_model() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", r#"{"text":"x"}"#);
    let approval = harness.approval().await;
    harness.answer(&approval, deny_once(Some("use the other list"))).await.unwrap();
    let end = call.result().await;
    assert!(is_error(&end));
    assert!(text(&end).contains("refused") && text(&end).contains("no fault of the tool"), "{end}");
    assert!(text(&end).contains("use the other list"));
    let listed = harness.is_allowed("list_notes", "{}").await;
    assert!(!listed);
}

#[tokio::test(start_paused = true)]
async fn rejects_mismatched_answers() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", r#"{"text":"x"}"#);
    let approval = harness.approval().await;
    let right = answer_to(&approval, once());
    for wrong in [
        SubmittedAnswer { hash: None, ..right.clone() },
        SubmittedAnswer { hash: Some("other".into()), ..right.clone() },
        SubmittedAnswer { id: "ask-none".into(), ..right.clone() },
    ] {
        let error = harness.tools.approvals().answer(vec![wrong], "test").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::StaleAnswer);
    }
    for senseless in
        [ApprovalAnswer::Accept { content: None }, ApprovalAnswer::Decline, ApprovalAnswer::Cancel]
    {
        assert_eq!(harness.answer(&approval, senseless).await.unwrap_err().code, ErrorCode::BadRequest);
    }
    let twice = harness.tools.approvals().answer(vec![right.clone(), right.clone()], "test").await;
    assert_eq!(twice.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(
        harness.tools.approvals().answer(vec![], "test").await.unwrap_err().code,
        ErrorCode::BadRequest
    );
    assert!(!call.end.is_finished());
    harness.tools.approvals().answer(vec![right.clone()], "test").await.unwrap();
    assert!(!is_error(&call.result().await));
    let late = harness.tools.approvals().answer(vec![right], "test").await;
    assert_eq!(late.unwrap_err().code, ErrorCode::StaleAnswer);
}

#[tokio::test(start_paused = true)]
async fn rejects_choices_that_were_not_offered() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", r#"{"text":"x"}"#);
    let approval = harness.approval().await;
    // A write is no read, there is no session, and nothing is allowed on every server.
    for (lifetime, width) in [
        (ChoiceLifetime::UntilQuit, ChoiceScope::Reads),
        (ChoiceLifetime::Session, ChoiceScope::Tool),
        (ChoiceLifetime::Always, ChoiceScope::Client),
        (ChoiceLifetime::Once, ChoiceScope::Tool),
    ] {
        let error = harness.answer(&approval, allow(lifetime, width)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest, "{lifetime:?} {width:?}");
    }
    assert!(!call.end.is_finished());
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    assert!(!is_error(&call.result().await));
    assert!(harness.is_allowed("add_note", r#"{"text":"y"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn offers_every_sensible_scope_and_lifetime_of_a_denial() {
    use ChoiceScope::{Call, Client, Reads, Server, Tool};
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let reads = Some(AccessClass::Read);
    harness.tools.permissions().classify(&"notes".into(), "list_notes", reads).await.unwrap();
    for (tool, widths) in [
        ("add_note", vec![Call, Tool, Server, Client]),
        ("list_notes", vec![Call, Tool, Reads, Server, Client]),
    ] {
        for session in [None, Some("ses-1")] {
            let from = session.map_or_else(|| caller("Claude"), |session| session_caller("Claude", session));
            let waiting = harness.spawn_call_as(from, call(tool, r#"{"text":"x"}"#));
            let approval = harness.approval().await;
            let denials = offered(&call_approval(&approval).denials);
            assert_eq!(denials[0], GrantChoice::once());
            let mut found: Vec<ChoiceScope> = denials.iter().map(|choice| choice.width).collect();
            found.dedup();
            assert_eq!(found, widths, "{tool}");
            let lasts_for_session = denials.iter().any(|choice| choice.lifetime == ChoiceLifetime::Session);
            assert_eq!(lasts_for_session, session.is_some(), "{denials:?}");
            harness.answer(&approval, deny_once(None)).await.unwrap();
            assert!(is_error(&waiting.result().await));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn choices_and_conditions_are_described() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let waiting = harness.spawn_call("add_note", r#"{"text":"milk"}"#);
    let approval = harness.approval().await;
    let asked = call_approval(&approval);
    let words = |choices: &[OfferedChoice]| -> Vec<String> {
        choices.iter().map(|choice| said(&choice.sentence)).collect()
    };
    let (allows, denials) = (words(&asked.choices), words(&asked.denials));
    assert!(allows.contains(&"Always allow notes: add_note, for every client".to_owned()), "{allows:?}");
    let client = "Deny everything on every server for 15 minutes, for Claude".to_owned();
    assert!(denials[0] == "Deny this exact call" && denials.contains(&client), "{denials:?}");
    let conditions: Vec<String> = asked.conditions.iter().map(|one| said(&one.sentence)).collect();
    assert!(conditions.contains(&"text is \"milk\"".to_owned()), "{conditions:?}");

    let known = harness.tools.approvals().pending_omitting(std::slice::from_ref(&approval.id));
    let known = call_approval(&known[0]);
    assert!(known.arguments.is_none() && known.choices.is_empty(), "{known:?}");
    assert!(known.denials.is_empty() && known.conditions.is_empty(), "{known:?}");

    // What is proposed narrows a choice that is offered.
    let narrowed = GrantChoice {
        conditions: vec![asked.conditions[0].condition.clone()],
        ..choice(ChoiceLifetime::Always, ChoiceScope::Tool)
    };
    harness.answer(&approval, ApprovalAnswer::Allow { choice: narrowed }).await.unwrap();
    assert!(!is_error(&waiting.result().await));
    assert!(!harness.is_allowed("add_note", r#"{"text":"eggs"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn identical_calls_share_one_approval_and_run() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", r#"{"text":"x"}"#);
    let approval = harness.approval().await;
    // A call that waits for the user reports progress.
    let (reports, mut waiting) = tokio::sync::mpsc::unbounded_channel();
    let progress = Arc::new(move |_| assert!(reports.send(()).is_ok()));
    let second = with_progress_sink(call("add_note", r#"{"text":"x"}"#), progress);
    let second = harness.spawn_call_as(caller("Claude"), second);
    waiting.recv().await.unwrap();
    assert_eq!(harness.approval().await.id, approval.id);
    harness.allow(&approval).await;
    let (first, second) = (first.result().await, second.result().await);
    assert!(
        !is_error(&second) && second["_meta"].is_null(),
        "the newest has its client for certain: {second}"
    );
    assert!(first["_meta"]["gatehouse/earlierResult"].is_object(), "{first}");
    assert_eq!(first["content"][0], second["content"][0]);
    harness.approvals(0).await;
    assert_eq!(harness.note_count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn denial_applies_to_all_identical_waiting_calls() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let calls = [
        harness.spawn_call("add_note", "{\"text\":\"x\"}"),
        harness.spawn_call("add_note", "{\"text\":\"x\"}"),
    ];
    harness.wait_for_calls(2).await;
    let approval = harness.approval().await;
    harness.answer(&approval, deny_once(None)).await.unwrap();
    for call in calls {
        assert!(is_error(&call.result().await));
    }
}

#[tokio::test(start_paused = true)]
async fn limits_pending_approvals_per_client() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let calls: Vec<SpawnedCall> =
        (0..64).map(|n| harness.spawn_call("add_note", &format!(r#"{{"text":"{n}"}}"#))).collect();
    harness.approvals(64).await;
    let end = harness.call("add_note", r#"{"text":"one more"}"#).await;
    assert!(is_error(&end) && text(&end).contains("64"), "{end}");
    // Another client still has room, and an identical call needs none.
    let other = harness.spawn_call_as(caller("Cursor"), call("add_note", r#"{"text":"1"}"#));
    harness.approvals(65).await;
    let same = harness.spawn_call("add_note", r#"{"text":"1"}"#);
    harness.wait_for_calls(67).await;
    assert_eq!(harness.tools.approvals().pending().len(), 65);
    drop((calls, other, same));
}

#[tokio::test(start_paused = true)]
async fn group_answer_covers_only_listed_approvals() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let calls: Vec<SpawnedCall> =
        (0..3).map(|n| harness.spawn_call("add_note", &format!(r#"{{"text":"{n}"}}"#))).collect();
    let drawn = harness.approvals(3).await;
    let later = harness.spawn_call("add_note", r#"{"text":"later"}"#);
    let other = harness.spawn_call("delete_note", r#"{"id":"1"}"#);
    let all = harness.approvals(5).await;
    let stranger = all.iter().find(|approval| call_approval(approval).exposed_name == "delete_note").unwrap();

    let mixed = drawn.iter().chain([stranger]).map(|approval| answer_to(approval, once())).collect();
    let error = harness.tools.approvals().answer(mixed, "test").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    let mut stale: Vec<SubmittedAnswer> = drawn.iter().map(|approval| answer_to(approval, once())).collect();
    stale[1].hash = Some("other".into());
    assert_eq!(
        harness.tools.approvals().answer(stale, "test").await.unwrap_err().code,
        ErrorCode::StaleAnswer
    );
    assert_eq!(harness.tools.approvals().pending().len(), 5, "all or none");

    let group = drawn.iter().map(|approval| answer_to(approval, once())).collect();
    harness.tools.approvals().answer(group, "test").await.unwrap();
    for call in calls {
        assert!(!is_error(&call.result().await));
    }
    assert_eq!(harness.tools.approvals().pending().len(), 2);
    assert!(!later.end.is_finished() && !other.end.is_finished());
}

#[tokio::test(start_paused = true)]
async fn group_answer_rejects_other_clients() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let calls = [
        harness.spawn_call("add_note", r#"{"text":"1"}"#),
        harness.spawn_call_as(caller("Cursor"), call("add_note", r#"{"text":"1"}"#)),
    ];
    let group = harness.approvals(2).await.iter().map(|approval| answer_to(approval, once())).collect();
    assert_eq!(
        harness.tools.approvals().answer(group, "test").await.unwrap_err().code,
        ErrorCode::BadRequest
    );
    drop(calls);
}

#[tokio::test(start_paused = true)]
async fn rejects_malformed_arguments_without_asking() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    for arguments in [r#"{"text":"a","text":"b"}"#, r#"{"text":"\udc00"}"#, "[1]", r#"{"a":{"b":1,"b":1}}"#] {
        let end = harness.call("add_note", arguments).await;
        assert_eq!(end["error"]["code"], -32602, "{arguments}: {end}");
    }
    assert_eq!(harness.call("nothing_like_it", "{}").await["error"]["code"], -32602);
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn masks_secrets_and_offers_no_lasting_grant_for_hidden_characters() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", "{\"text\":\"a\u{202E}b\",\"password\":\"hunter2hunter2\"}");
    let approval = harness.approval().await;
    let call_approval = call_approval(&approval);
    let shown: Vec<&str> =
        call_approval.arguments.iter().flatten().map(|argument| argument.text.as_str()).collect();
    assert!(shown[0].contains("U+202E"), "{shown:?}");
    assert!(!shown[1].contains("hunter2"), "{shown:?}");
    assert!(call_approval.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    assert_eq!(call_approval.choices[0].choice(), GrantChoice::once());
    let error =
        harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
    harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&call.result().await));
    harness.store.activity().flush();
    let record = harness.store.activity().list(&Default::default()).unwrap().remove(0);
    assert!(!record.arguments.unwrap().contains("hunter2"));
}

fn hand_edit() -> ApprovalRequest {
    ApprovalRequest::ConfigChange(ConfigChangeRequest {
        file: "servers.json".into(),
        server: "files".into(),
        changes: Vec::new(),
        action: ConfigChangeKind::Changed,
        profile: None,
    })
}

#[tokio::test(start_paused = true)]
async fn non_call_requests_share_the_queue() {
    let harness = ToolsHarness::new().await;
    let queue = harness.tools.approvals().clone();
    let asked = tokio::spawn({
        let queue = queue.clone();
        async move { queue.ask(hand_edit()).await }
    });
    let approval = harness.approval().await;
    let answer = |answer| SubmittedAnswer { id: approval.id.clone(), hash: None, answer };
    let wrong = queue.answer(vec![answer(once())], "test").await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BadRequest);
    queue.answer(vec![answer(ApprovalAnswer::Accept { content: None })], "test").await.unwrap();
    assert_eq!(asked.await.unwrap(), ApprovalAnswer::Accept { content: None });

    // Dropping the future withdraws the request.
    let asked = tokio::spawn({
        let queue = queue.clone();
        async move { queue.ask(hand_edit()).await }
    });
    harness.approval().await;
    asked.abort();
    harness.approvals(0).await;

    // Nobody's answer is no answer.
    assert_eq!(queue.ask(hand_edit()).await, ApprovalAnswer::Cancel);
    assert!(queue.pending().is_empty());
}

#[tokio::test]
async fn warns_of_first_use_until_first_allowed_call() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let is_new = async |harness: &ToolsHarness, answer: ApprovalAnswer| {
        let running = harness.spawn_call("add_note", r#"{"text":"milk"}"#);
        let approval = harness.approval().await;
        harness.answer(&approval, answer).await.unwrap();
        running.result().await;
        call_approval(&approval).warnings.contains(&Warning::FirstUse)
    };
    assert!(is_new(&harness, deny_once(None)).await);
    assert!(is_new(&harness, once()).await, "a denial is no use");
    assert!(!is_new(&harness, deny_once(None)).await);
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert!(!is_new(&harness, deny_once(None)).await, "the records know");
}
