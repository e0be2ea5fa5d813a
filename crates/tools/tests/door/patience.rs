//! Clients that give up and people who take their time (PERM-1, 11).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Event, Rule};
use gatehouse_tools::{Patience, ToolCall};
use parking_lot::Mutex;
use serde_json::Value;

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;

#[tokio::test(start_paused = true)]
async fn the_client_is_told_to_call_again_and_the_question_stays() {
    let house = House::new().await;
    house.notes().await;
    let began = tokio::time::Instant::now();
    let first = house.begin("add_note", MILK);
    let question = house.question().await;
    assert!(about(&question).client_waits_until.is_some());
    let end = first.ended().await;
    assert_eq!(began.elapsed().as_secs(), 50);
    assert!(is_error(&end) && text(&end).contains("same arguments"), "{end}");
    let offer = house.question().await;
    assert_eq!((offer.id.clone(), offer.waiting), (question.id.clone(), false));
    assert_eq!(about(&offer).client_waits_until, None);

    let again = house.begin("add_note", MILK);
    house.until(|house| house.tools.approvals().pending()[0].waiting).await;
    assert_eq!(house.question().await.id, question.id, "the same question");
    house.allow(&offer).await;
    assert!(!is_error(&again.ended().await));
    house.questions(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_late_approval_is_good_for_one_identical_call() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", MILK);
    let question = house.question().await;
    first.cancel.cancel();
    first.ended().await;
    assert!(!house.question().await.waiting);
    house.allow(&question).await;
    house.questions(0).await;
    for other in [r#"{"text":"milk "}"#, r#"{ "text":"milk"}"#, r#"{"text":"milk","x":1}"#] {
        assert!(!house.passes("add_note", other).await, "{other}");
    }
    assert!(!house.passes("delete_note", MILK).await);
    let other_client = house.begin_as(caller("Cursor"), call("add_note", MILK));
    let asked = house.question().await;
    house.answer(&asked, no(None)).await.unwrap();
    assert!(is_error(&other_client.ended().await));

    assert!(house.passes("add_note", MILK).await, "the ticket");
    house.store.activity().flush();
    let record = house.store.activity().list(&Default::default()).unwrap().remove(0);
    assert_eq!(record.verdict.rule, Rule::LateTicket { ask: question.id });
    assert!(!house.passes("add_note", MILK).await, "one use");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_and_an_offer_end() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    call.end.abort();
    house.until(|house| !house.tools.approvals().pending()[0].waiting).await;
    house.allow(&question).await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert!(!house.passes("add_note", MILK).await, "the ticket is over");

    let call = house.begin("add_note", MILK);
    house.question().await;
    call.end.abort();
    house.until(|house| !house.tools.approvals().pending()[0].waiting).await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert!(house.tools.approvals().pending().is_empty(), "the offer is over");
    assert_eq!(house.events.count(|event| matches!(event, Event::ApprovalExpired { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_denial_answers_the_next_identical_call() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    call.cancel.cancel();
    call.ended().await;
    house.answer(&question, no(Some("not now"))).await.unwrap();
    let end = house.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("not now"), "{end}");
    assert!(house.tools.approvals().pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nobodys_answer_is_a_no() {
    let patience = Patience { ask_deadline: Duration::from_secs(30), ..Patience::default() };
    let house = House::with(patience).await;
    house.notes().await;
    let end = house.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("did not answer in time"), "{end}");
    assert!(house.tools.approvals().pending().is_empty());
    house.until(|house| house.audit(|event| matches!(event, AuditEvent::Lapsed { .. })) == 1).await;
    assert!(!house.passes("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_progress_gets_a_sign_of_life_every_10_seconds() {
    let house = House::new().await;
    house.notes().await;
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let to = seen.clone();
    let progress = Arc::new(move |raw: Box<serde_json::value::RawValue>| {
        to.lock().push(serde_json::from_str(raw.get()).unwrap());
    });
    let call = house.begin_as(caller("Claude"), told(call("add_note", MILK), progress));
    call.ended().await;
    let seen = seen.lock();
    assert_eq!(seen.len(), 4, "at 10, 20, 30 and 40 s: {seen:?}");
    let values: Vec<f64> = seen.iter().map(|seen| seen["progress"].as_f64().unwrap()).collect();
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]) && values[3] < 0.001, "{values:?}");
}

fn told_of(call: ToolCall) -> ToolCall {
    told(call, Arc::new(|_| {}))
}

fn with_progress(text: &str) -> ToolCall {
    told_of(call("add_note", text))
}

/// How long a question says that its client waits, in seconds.
async fn hold(house: &House, call: ToolCall) -> i64 {
    let running = house.begin_as(caller("Claude"), call);
    let question = house.question().await;
    let until = about(&question).client_waits_until.unwrap();
    house.answer(&question, no(None)).await.unwrap();
    running.ended().await;
    (until.0 - question.asked_at.0 + 999) / 1000
}

/// A call whose client gives up after so long.
async fn given_up(house: &House, call: ToolCall, after: u64) {
    let running = house.begin_as(caller("Claude"), call);
    let question = house.question().await;
    tokio::time::sleep(Duration::from_secs(after)).await;
    running.cancel.cancel();
    running.ended().await;
    house.answer(&question, no(None)).await.unwrap();
    house.questions(0).await;
}

#[tokio::test(start_paused = true)]
async fn how_long_a_client_waits_is_learned_from_its_giving_up() {
    let house = House::new().await;
    house.notes().await;
    let plain = || call("add_note", MILK);
    assert_eq!(hold(&house, plain()).await, 50);
    given_up(&house, call("add_note", r#"{"text":"1"}"#), 4).await;
    assert_eq!(hold(&house, plain()).await, 50, "somebody pressed stop");
    given_up(&house, call("add_note", r#"{"text":"2"}"#), 40).await;
    assert_eq!(hold(&house, plain()).await, 36);
    given_up(&house, call("add_note", r#"{"text":"3"}"#), 30).await;
    assert_eq!(hold(&house, plain()).await, 27);

    let began = tokio::time::Instant::now();
    let end = house.call("add_note", r#"{"text":"4"}"#).await;
    assert!(text(&end).contains("same arguments"), "{end}");
    assert_eq!(began.elapsed().as_secs(), 27);
    let offer = house.question().await;
    house.answer(&offer, no(None)).await.unwrap();

    let other = house.begin_as(caller("Cursor"), plain());
    let question = house.question().await;
    let until = about(&question).client_waits_until.unwrap();
    assert_eq!((until.0 - question.asked_at.0 + 999) / 1000, 50, "another client");
    house.answer(&question, no(None)).await.unwrap();
    other.ended().await;

    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert_eq!(hold(&house, plain()).await, 27, "also after a restart");
    house.tools.client_gone(&"Claude".into());
    let file = house.dir.path().join("client-waits.json");
    house.until(|_| !std::fs::read_to_string(&file).unwrap().contains("Claude")).await;
}

#[tokio::test(start_paused = true)]
async fn progress_that_keeps_a_client_waiting_lets_the_hold_grow() {
    let house = House::new().await;
    house.notes().await;
    for (number, expect) in [50, 100, 200, 400].into_iter().enumerate() {
        let began = tokio::time::Instant::now();
        let end = house.begin_as(caller("Claude"), with_progress(&format!(r#"{{"text":"{number}"}}"#)));
        let end = end.ended().await;
        assert!(text(&end).contains("same arguments"), "{end}");
        assert_eq!(began.elapsed().as_secs(), expect);
        let offer = house.question().await;
        house.answer(&offer, no(None)).await.unwrap();
    }
    assert_eq!(hold(&house, with_progress(MILK)).await, 600);
    assert_eq!(hold(&house, call("add_note", MILK)).await, 50, "without progress nothing is known");
    given_up(&house, with_progress(r#"{"text":"x"}"#), 500).await;
    assert_eq!(hold(&house, with_progress(MILK)).await, 450);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_comes_again_while_the_first_still_waits_was_given_up_without_a_word() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", MILK);
    let question = house.question().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let again = house.begin("add_note", MILK);
    house.came_in(2).await;
    house.answer(&question, no(None)).await.unwrap();
    first.ended().await;
    again.ended().await;
    assert_eq!(hold(&house, call("add_note", r#"{"text":"tea"}"#)).await, 18);
}

#[tokio::test(start_paused = true)]
async fn a_pause_and_an_end_of_everything_teach_nothing() {
    let house = House::new().await;
    house.notes().await;
    let running = house.begin("add_note", MILK);
    house.question().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    house.tools.pause().await.unwrap();
    running.ended().await;
    house.tools.resume().await.unwrap();
    assert_eq!(hold(&house, call("add_note", MILK)).await, 50);
}

#[tokio::test]
async fn a_servers_progress_is_wanted_also_when_the_client_wants_none() {
    let house = House::new().await;
    let folder = tempfile::tempdir().unwrap();
    let tools = r#"[{"name":"act","inputSchema":{"type":"object"},"_meta":{"does":"progress"}}]"#;
    std::fs::write(folder.path().join("tools.json"), tools).unwrap();
    house.serve(scripted("script", folder.path())).await;
    assert_eq!(house.events.count(|event| matches!(event, Event::CallProgress { .. })), 0);
    let running = house.begin("act", "{}");
    let question = house.question().await;
    house.allow(&question).await;
    assert!(!is_error(&running.ended().await));
    assert_eq!(house.events.count(|event| matches!(event, Event::CallProgress { .. })), 2);
}
