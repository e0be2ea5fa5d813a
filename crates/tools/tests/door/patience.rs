//! Clients that give up and people who take their time (PERM-1, 11).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Event, Rule};
use gatehouse_tools::Patience;
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
