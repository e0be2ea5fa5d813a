//! Tests of the lists that a server offers: when an actor reads them, keeps them and drops them. Time is paused.

use std::collections::HashMap;

use gatehouse_mcp_client::lists::ServerLists;
use gatehouse_mcp_client::{Inbound, json as raw_json};
use gatehouse_mcp_wire::ProtocolFamily;
use serde_json::json;

use super::scripted_server::{ActorHarness, http, lists_of, secs, upstream};
use crate::actor::refresh::SHORTEST_FRESH;

#[tokio::test(start_paused = true)]
async fn debounces_list_changes() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    let before = server.request_count("tools/list");
    server.offers(lists_of(&["echo", "add"]));
    for _ in 0..5 {
        server.says(Inbound::ToolsChanged);
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    assert_eq!(server.request_count("tools/list"), before, "not before 200 ms");
    harness.wait_for_event("one tools changed").await;
    assert_eq!(server.request_count("tools/list"), before + 1);
    assert_eq!(harness.manager.list()[0].counts.tools, 2);
    server.says(Inbound::ToolsChanged);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.request_count("tools/list"), before + 2);
    assert_eq!(harness.take_events(), ["one tools changed"], "the same list again is no change");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn refetches_stale_list_without_change_notifications() {
    for (capabilities, readings) in [(r#"{"tools":{}}"#, 5), (r#"{"tools":{"listChanged":true}}"#, 0)] {
        let harness = ActorHarness::new();
        let server = harness.server("one");
        server.declares(capabilities);
        server.offers(json!({ "tools": [], "ttlMs": 0 }));
        server.opens();
        harness.put(http("one")).await;
        harness.wait_for_event("one connected").await;
        let before = server.request_count("tools/list");
        tokio::time::sleep(SHORTEST_FRESH * 5 + secs(1)).await;
        assert_eq!(server.request_count("tools/list") - before, readings, "{capabilities}");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn ignores_list_of_older_connection() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.offers(lists_of(&["old"]));
    server.answers_lists_after(secs(20));
    server.says(Inbound::ToolsChanged);
    tokio::time::sleep(secs(1)).await;
    server.answers_lists_after(secs(0));
    server.offers(lists_of(&["new"]));
    harness.manager.reconnect(&"one".into()).await.unwrap();
    harness.wait_for_event("one connected").await;
    tokio::time::sleep(secs(120)).await;
    assert_eq!(harness.handle("one").lists().tools[0].name, "new");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn keeps_lists_while_disconnected() {
    let harness = ActorHarness::connected("one").await;
    harness.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(harness.handle("one").lists().tools[0].name, "echo");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn does_not_request_undeclared_lists() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    assert_eq!(server.request_count("prompts/list") + server.request_count("resources/list"), 0);
    let reply = harness.call_method("one", "prompts/get").await.unwrap();
    assert!(reply.result().is_none());
    assert_eq!(server.request_count("prompts/get"), 0);
    server.says(Inbound::PromptsChanged);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.request_count("prompts/list"), 0);

    let bare = harness.server("bare");
    bare.declares("{}");
    bare.opens();
    harness.put(http("bare")).await;
    harness.wait_for_event("bare connected").await;
    assert_eq!(bare.request_count("ping"), 1, "a sign of life instead of a list");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn call_if_unchanged_rejects_changed_lists() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    let handle = harness.handle("one");
    let judged_by = handle.lists();
    let cancel = tokio_util::sync::CancellationToken::new();
    assert!(!handle.ready(ProtocolFamily::Stateless, &cancel).await.unwrap(), "nothing to wait for");
    handle.call_if_unchanged(&judged_by, upstream("tools/call")).await.unwrap().unwrap();
    server.offers(lists_of(&["another"]));
    server.says(Inbound::ToolsChanged);
    harness.wait_for_event("one tools changed").await;
    let sent = server.request_count("tools/call");
    assert!(handle.call_if_unchanged(&judged_by, upstream("tools/call")).await.unwrap().is_none());
    harness.manager.stop(&"one".into()).await.unwrap();
    assert!(handle.call_if_unchanged(&handle.lists(), upstream("tools/call")).await.unwrap().is_none());
    assert_eq!(server.request_count("tools/call"), sent);
    assert!(handle.ready(ProtocolFamily::Stateless, &cancel).await.is_err(), "it stays stopped");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn keeps_unanswered_list_and_retries_later() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.declares(r#"{"tools":{},"prompts":{}}"#);
    server.opens();
    harness.put(http("one")).await;
    harness.wait_for_event("one prompts changed").await;
    server.is_deaf_to(Some("prompts/list"));
    harness.manager.reconnect(&"one".into()).await.unwrap();
    let begun = tokio::time::Instant::now();
    harness.wait_for_event("one connected").await;
    assert_eq!(begun.elapsed().as_secs(), 5, "what need not be answered holds nothing up for long");
    assert_eq!(harness.manager.list()[0].counts.prompts, 1, "as it was");
    server.is_deaf_to(None);
    let asked = server.request_count("prompts/list");
    tokio::time::sleep(secs(40)).await;
    assert_eq!(server.request_count("prompts/list"), asked + 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn drops_unanswered_list_of_an_earlier_run() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.declares(r#"{"tools":{},"prompts":{}}"#);
    server.is_deaf_to(Some("prompts/list"));
    server.opens();
    let config = http("one").config;
    let known = ServerLists {
        generation: config.generation,
        prompts: vec![raw_json::raw(&json!({ "name": "old" }))],
        ..ServerLists::default()
    };
    assert!(harness.manager.add_all(vec![config], HashMap::from([("one".into(), known)])).is_empty());
    assert_eq!(harness.manager.list()[0].counts.prompts, 1, "known while the server isn't connected");
    harness.manager.start_all().await;
    harness.wait_for_event("one connected").await;
    assert!(harness.handle("one").lists().prompts.is_empty(), "it may be an old copy");
    server.is_deaf_to(None);
    harness.wait_for_event("one prompts changed").await;
    harness.wait_for_event("one prompts changed").await;
    assert_eq!(harness.handle("one").lists().prompts[0].get(), r#"{"name":"ask"}"#);
    harness.end().await;
}
