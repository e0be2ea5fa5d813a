//! Stopping everything (PERM-13) and ending in order.

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Event, Rule};

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;

#[tokio::test(start_paused = true)]
async fn a_pause_refuses_what_waits_and_what_comes_and_ends_what_was_for_a_while() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", MILK);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::UntilQuit, ChoiceWidth::Tool)).await.unwrap();
    first.ended().await;
    house.tools.rights().classify(&"notes".into(), "list_notes", None).await.unwrap();
    let waiting = house.begin("list_notes", "{}");
    let question = house.question().await;
    let began = std::time::Instant::now();
    house.tools.pause().await.unwrap();
    let end = waiting.ended().await;
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    assert!(began.elapsed().as_millis() < 1000);
    assert!(house.answer(&question, once()).await.is_err());
    let end = house.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    assert!(house.tools.approvals().pending().is_empty());
    assert!(house.tools.rights().view().paused);

    house.tools.resume().await.unwrap();
    assert!(!house.passes("add_note", MILK).await, "until quit ended with the pause");
    for paused in [true, false] {
        assert_eq!(house.audit(|event| *event == AuditEvent::Paused { paused }), 1);
        assert_eq!(house.events.count(|event| *event == Event::PauseChanged { paused }), 1);
    }
    house.store.activity().flush();
    let calls = house.store.activity().list(&Default::default()).unwrap();
    assert!(calls.iter().any(|call| call.verdict.rule == Rule::Paused));
}

#[tokio::test(start_paused = true)]
async fn a_pause_outlives_a_restart_and_always_grants_outlive_a_pause() {
    let house = House::new().await;
    house.notes().await;
    house.tools.rights().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    house.tools.pause().await.unwrap();
    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.notes().await;
    assert!(text(&house.call("add_note", MILK).await).contains("paused"));
    house.tools.resume().await.unwrap();
    assert!(house.passes("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn a_late_approval_does_not_outlive_a_pause() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    let question = house.question().await;
    call.cancel.cancel();
    call.ended().await;
    house.allow(&question).await;
    house.tools.pause().await.unwrap();
    house.tools.resume().await.unwrap();
    assert!(!house.passes("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_gatehouse_is_a_no() {
    let house = House::new().await;
    house.notes().await;
    let call = house.begin("add_note", MILK);
    house.question().await;
    house.tools.shutdown().await;
    assert!(is_error(&call.ended().await));
    assert!(is_error(&house.call("add_note", MILK).await));
}
