//! Clients that give up and people who take their time (PERM-1, 11).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Event, Rule};
use gatehouse_tools::{ApprovalLimits, ToolCall};
use parking_lot::Mutex;
use serde_json::Value;

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;

#[tokio::test(start_paused = true)]
async fn client_is_told_to_retry_and_approval_stays() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let began = tokio::time::Instant::now();
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    assert!(call_approval(&approval).client_waits_until.is_some());
    let end = first.result().await;
    assert_eq!(began.elapsed().as_secs(), 50);
    assert!(is_error(&end) && text(&end).contains("same arguments"), "{end}");
    let offer = harness.approval().await;
    assert_eq!((offer.id.clone(), offer.waiting), (approval.id.clone(), false));
    assert_eq!(call_approval(&offer).client_waits_until, None);

    let again = harness.spawn_call("add_note", MILK);
    harness.wait_until(|harness| harness.tools.approvals().pending()[0].waiting).await;
    assert_eq!(harness.approval().await.id, approval.id, "the same approval request");
    harness.allow(&offer).await;
    assert!(!is_error(&again.result().await));
    harness.approvals(0).await;
}

#[tokio::test(start_paused = true)]
async fn late_approval_covers_one_identical_call() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    first.cancel.cancel();
    first.result().await;
    assert!(!harness.approval().await.waiting);
    harness.allow(&approval).await;
    harness.approvals(0).await;
    for other in [r#"{"text":"milk "}"#, r#"{ "text":"milk"}"#, r#"{"text":"milk","x":1}"#] {
        assert!(!harness.is_allowed("add_note", other).await, "{other}");
    }
    assert!(!harness.is_allowed("delete_note", MILK).await);
    let other_client = harness.spawn_call_as(caller("Cursor"), call("add_note", MILK));
    let asked = harness.approval().await;
    harness.answer(&asked, deny_once(None)).await.unwrap();
    assert!(is_error(&other_client.result().await));

    assert!(harness.is_allowed("add_note", MILK).await, "the ticket");
    harness.store.activity().flush();
    let record = harness.store.activity().list(&Default::default()).unwrap().remove(0);
    assert_eq!(record.verdict.rule, Rule::LateTicket { ask: approval.id });
    assert!(!harness.is_allowed("add_note", MILK).await, "one use");
}

#[tokio::test(start_paused = true)]
async fn tickets_and_abandoned_approvals_expire() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    call.end.abort();
    harness.wait_until(|harness| !harness.tools.approvals().pending()[0].waiting).await;
    harness.allow(&approval).await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert!(!harness.is_allowed("add_note", MILK).await, "the ticket is over");

    let call = harness.spawn_call("add_note", MILK);
    harness.approval().await;
    call.end.abort();
    harness.wait_until(|harness| !harness.tools.approvals().pending()[0].waiting).await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert!(harness.tools.approvals().pending().is_empty(), "the offer is over");
    assert_eq!(harness.events.count(|event| matches!(event, Event::ApprovalExpired { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn late_denial_answers_the_next_identical_call() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    call.cancel.cancel();
    call.result().await;
    harness.answer(&approval, deny_once(Some("not now"))).await.unwrap();
    let end = harness.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("not now"), "{end}");
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn unanswered_approval_is_denied() {
    let approval_limits =
        ApprovalLimits { answer_deadline: Duration::from_secs(30), ..ApprovalLimits::default() };
    let harness = ToolsHarness::with(approval_limits).await;
    harness.start_notes_server().await;
    let end = harness.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("did not answer in time"), "{end}");
    assert!(harness.tools.approvals().pending().is_empty());
    harness
        .wait_until(|harness| harness.audit(|event| matches!(event, AuditEvent::Lapsed { .. })) == 1)
        .await;
    assert!(!harness.is_allowed("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn sends_progress_every_10_seconds_while_waiting() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let to = seen.clone();
    let progress = Arc::new(move |raw: Box<serde_json::value::RawValue>| {
        to.lock().push(serde_json::from_str(raw.get()).unwrap());
    });
    let call = harness.spawn_call_as(caller("Claude"), with_progress_sink(call("add_note", MILK), progress));
    call.result().await;
    let seen = seen.lock();
    assert_eq!(seen.len(), 4, "at 10, 20, 30 and 40 s: {seen:?}");
    let values: Vec<f64> = seen.iter().map(|seen| seen["progress"].as_f64().unwrap()).collect();
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]) && values[3] < 0.001, "{values:?}");
}

fn with_ignored_progress(call: ToolCall) -> ToolCall {
    with_progress_sink(call, Arc::new(|_| {}))
}

fn with_progress(text: &str) -> ToolCall {
    with_ignored_progress(call("add_note", text))
}

/// How long the client waits according to the approval request, in seconds.
async fn client_wait_secs(harness: &ToolsHarness, call: ToolCall) -> i64 {
    let running = harness.spawn_call_as(caller("Claude"), call);
    let approval = harness.approval().await;
    let until = call_approval(&approval).client_waits_until.unwrap();
    harness.answer(&approval, deny_once(None)).await.unwrap();
    running.result().await;
    (until.0 - approval.requested_at.0 + 999) / 1000
}

/// A call whose client gives up after so long.
async fn give_up_after(harness: &ToolsHarness, call: ToolCall, after: u64) {
    let running = harness.spawn_call_as(caller("Claude"), call);
    let approval = harness.approval().await;
    tokio::time::sleep(Duration::from_secs(after)).await;
    running.cancel.cancel();
    running.result().await;
    harness.answer(&approval, deny_once(None)).await.unwrap();
    harness.approvals(0).await;
}

#[tokio::test(start_paused = true)]
async fn learns_timeout_from_client_giving_up() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let plain = || call("add_note", MILK);
    assert_eq!(client_wait_secs(&harness, plain()).await, 50);
    let stopped = call("add_note", r#"{"text":"1"}"#);
    stopped.cancel_reason.set("AbortError: The user pressed stop.");
    give_up_after(&harness, stopped, 4).await;
    assert_eq!(client_wait_secs(&harness, plain()).await, 50, "somebody pressed stop");
    give_up_after(&harness, call("add_note", r#"{"text":"2"}"#), 40).await;
    assert_eq!(client_wait_secs(&harness, plain()).await, 36);
    give_up_after(&harness, call("add_note", r#"{"text":"3"}"#), 30).await;
    assert_eq!(client_wait_secs(&harness, plain()).await, 27);

    let began = tokio::time::Instant::now();
    let end = harness.call("add_note", r#"{"text":"4"}"#).await;
    assert!(text(&end).contains("same arguments"), "{end}");
    assert_eq!(began.elapsed().as_secs(), 27);
    let offer = harness.approval().await;
    harness.answer(&offer, deny_once(None)).await.unwrap();

    let other = harness.spawn_call_as(caller("Cursor"), plain());
    let approval = harness.approval().await;
    let until = call_approval(&approval).client_waits_until.unwrap();
    assert_eq!((until.0 - approval.requested_at.0 + 999) / 1000, 50, "another client");
    harness.answer(&approval, deny_once(None)).await.unwrap();
    other.result().await;

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert_eq!(client_wait_secs(&harness, plain()).await, 27, "also after a restart");
    harness.tools.client_gone(&"Claude".into());
    let file = harness.dir.path().join("client-waits.json");
    harness.wait_until(|_| !std::fs::read_to_string(&file).unwrap().contains("Claude")).await;
}

/// A client with a time-out of 5 s: the answer comes with a margin before it leaves, each time, and its late answer
/// runs the call once.
#[tokio::test(start_paused = true)]
async fn short_timeout_is_learned_and_answered_in_time() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = call("add_note", MILK);
    first.cancel_reason.set("McpError: Request timed out");
    let running = harness.spawn_call_as(caller("Claude"), first);
    let approval = harness.approval().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    running.cancel.cancel();
    running.result().await;
    for _ in 0..3 {
        let began = tokio::time::Instant::now();
        let end = harness.call("add_note", MILK).await;
        assert!(text(&end).contains("same arguments"), "{end}");
        assert_eq!(began.elapsed().as_secs(), 3);
    }
    harness.allow(&approval).await;
    assert!(!is_error(&harness.call("add_note", MILK).await));
    assert_eq!(harness.note_count().await, 1);
}

/// A client that gives up without a sign seems to wait for the answer, until it repeats the call.
#[tokio::test(start_paused = true)]
async fn repeat_after_answer_teaches_timeout() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    harness.allow(&approval).await;
    assert!(!is_error(&first.result().await));
    let eggs = || call("add_note", r#"{"text":"eggs"}"#);
    assert_eq!(client_wait_secs(&harness, eggs()).await, 50);
    assert!(!is_error(&harness.call("add_note", MILK).await));
    assert_eq!(harness.note_count().await, 1, "the kept result");
    assert_eq!(client_wait_secs(&harness, eggs()).await, 4);
}

#[tokio::test(start_paused = true)]
async fn progress_extends_wait_limit() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    for (number, expect) in [50, 100, 200, 400].into_iter().enumerate() {
        let began = tokio::time::Instant::now();
        let end =
            harness.spawn_call_as(caller("Claude"), with_progress(&format!(r#"{{"text":"{number}"}}"#)));
        let end = end.result().await;
        assert!(text(&end).contains("same arguments"), "{end}");
        assert_eq!(began.elapsed().as_secs(), expect);
        let offer = harness.approval().await;
        harness.answer(&offer, deny_once(None)).await.unwrap();
    }
    assert_eq!(client_wait_secs(&harness, with_progress(MILK)).await, 600);
    assert_eq!(
        client_wait_secs(&harness, call("add_note", MILK)).await,
        50,
        "without progress nothing is known"
    );
    give_up_after(&harness, with_progress(r#"{"text":"x"}"#), 500).await;
    assert_eq!(client_wait_secs(&harness, with_progress(MILK)).await, 450);
}

#[tokio::test(start_paused = true)]
async fn repeated_call_counts_as_silent_timeout() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let again = harness.spawn_call("add_note", MILK);
    harness.wait_for_calls(2).await;
    harness.answer(&approval, deny_once(None)).await.unwrap();
    first.result().await;
    again.result().await;
    assert_eq!(client_wait_secs(&harness, call("add_note", r#"{"text":"tea"}"#)).await, 18);
}

#[tokio::test(start_paused = true)]
async fn pause_and_shutdown_do_not_affect_estimates() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let running = harness.spawn_call("add_note", MILK);
    harness.approval().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    harness.tools.pause().await.unwrap();
    running.result().await;
    harness.tools.resume().await.unwrap();
    assert_eq!(client_wait_secs(&harness, call("add_note", MILK)).await, 50);
}

#[tokio::test]
async fn requests_server_progress_without_client_token() {
    let harness = ToolsHarness::new().await;
    let folder = tempfile::tempdir().unwrap();
    let tools = r#"[{"name":"act","inputSchema":{"type":"object"},"_meta":{"does":"progress"}}]"#;
    std::fs::write(folder.path().join("tools.json"), tools).unwrap();
    harness.start_server(scripted("script", folder.path())).await;
    assert_eq!(harness.events.count(|event| matches!(event, Event::CallProgress { .. })), 0);
    let running = harness.spawn_call("act", "{}");
    let approval = harness.approval().await;
    harness.allow(&approval).await;
    assert!(!is_error(&running.result().await));
    assert_eq!(harness.events.count(|event| matches!(event, Event::CallProgress { .. })), 2);
}
