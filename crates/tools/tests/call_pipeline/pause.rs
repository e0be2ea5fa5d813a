//! Stopping everything (PERM-13) and ending in order.

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Event, Rule};

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;

#[tokio::test(start_paused = true)]
async fn pause_refuses_calls_and_ends_temporary_grants() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::UntilQuit, ChoiceScope::Tool)).await.unwrap();
    first.result().await;
    harness.tools.permissions().classify(&"notes".into(), "list_notes", None).await.unwrap();
    let waiting = harness.spawn_call("list_notes", "{}");
    let approval = harness.approval().await;
    harness.tools.pause().await.unwrap();
    let end = waiting.result().await;
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    assert!(harness.answer(&approval, once()).await.is_err());
    let end = harness.call("add_note", MILK).await;
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    assert!(harness.tools.approvals().pending().is_empty());
    assert!(harness.tools.permissions().view().paused);

    harness.tools.resume().await.unwrap();
    assert!(!harness.is_allowed("add_note", MILK).await, "until quit ended with the pause");
    for paused in [true, false] {
        assert_eq!(harness.audit(|event| *event == AuditEvent::Paused { paused }), 1);
        assert_eq!(harness.events.count(|event| *event == Event::PauseChanged { paused }), 1);
    }
    harness.store.activity().flush();
    let calls = harness.store.activity().list(&Default::default()).unwrap();
    assert!(calls.iter().any(|call| call.verdict.rule == Rule::Paused));
}

#[tokio::test(start_paused = true)]
async fn pause_survives_restart_and_keeps_always_grants() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    harness.tools.pause().await.unwrap();
    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert!(text(&harness.call("add_note", MILK).await).contains("paused"));
    harness.tools.resume().await.unwrap();
    assert!(harness.is_allowed("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn pause_drops_late_approvals() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    call.cancel.cancel();
    call.result().await;
    harness.allow(&approval).await;
    harness.tools.pause().await.unwrap();
    harness.tools.resume().await.unwrap();
    assert!(!harness.is_allowed("add_note", MILK).await);
}

#[tokio::test(start_paused = true)]
async fn shutdown_denies_waiting_calls() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call = harness.spawn_call("add_note", MILK);
    harness.approval().await;
    harness.tools.shutdown().await;
    assert!(is_error(&call.result().await));
    assert!(is_error(&harness.call("add_note", MILK).await));
}
