//! A server that speaks both families of revisions: its second connection, for clients of the older ones. The main
//! connection is a stateless one.

use gatehouse_mcp_client::{CallingClient, RpcOutcome, UpstreamError, UpstreamErrorKind, UpstreamRequest};
use gatehouse_mcp_wire::ProtocolFamily::{self, Stateful, Stateless};
use gatehouse_model::server::{ProtocolVersionSetting, Remote};
use gatehouse_model::status::FailureKind;
use gatehouse_model::{Transport, server::StdioStreams};
use tokio_util::sync::CancellationToken;

use super::scripted_server::{ActorHarness, ScriptedServer, TestServerConfig, http, secs, upstream};

fn call_of(protocol_family: ProtocolFamily) -> UpstreamRequest {
    let client = Some(CallingClient { protocol_family, capabilities: None });
    UpstreamRequest { client, ..upstream("tools/call") }
}

async fn call(harness: &ActorHarness, family: ProtocolFamily) -> Result<RpcOutcome, UpstreamError> {
    harness.handle("one").call(call_of(family)).await
}

async fn connected(config: TestServerConfig) -> ActorHarness {
    let harness = ActorHarness::new();
    harness.server("one").opens();
    harness.server("one").speaks(Stateless);
    harness.put(config).await;
    harness.wait_for_event("one connected").await;
    harness.take_events();
    harness
}

#[tokio::test(start_paused = true)]
async fn opened_for_the_first_call_that_needs_it() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    call(&harness, Stateless).await.unwrap();
    harness.call("one").await.unwrap();
    assert_eq!((server.take_calls(), server.open_now()), (vec![Stateless, Stateless], 1));
    let both = futures::future::join(call(&harness, Stateful), call(&harness, Stateful)).await;
    assert!(both.0.is_ok() && both.1.is_ok());
    call(&harness, Stateless).await.unwrap();
    assert_eq!(server.take_calls(), [Stateful, Stateful, Stateless]);
    assert_eq!((server.open_now(), server.attempts()), (2, 2));
    assert_eq!(harness.take_events(), Vec::<String>::new(), "nobody sees it");
    harness.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(server.open_now(), 0, "nothing of either is left when the stop has answered");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn opened_before_the_last_judgement() {
    let harness = connected(http("one")).await;
    let (handle, server) = (harness.handle("one"), harness.server("one"));
    let (lists, cancel) = (handle.lists(), CancellationToken::new());
    assert!(handle.call_if_unchanged(&lists, call_of(Stateful)).await.unwrap().is_none());
    assert_eq!(server.take_calls(), [], "nothing was sent");
    assert!(handle.ready(Stateful, &cancel).await.unwrap(), "the call is judged again");
    assert!(!handle.ready(Stateful, &cancel).await.unwrap());
    assert!(handle.call_if_unchanged(&lists, call_of(Stateful)).await.unwrap().is_some());
    assert_eq!(server.take_calls(), [Stateful]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_of_one_family_is_asked_once() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    server.answers_next(Err(ScriptedServer::error(FailureKind::Protocol)));
    for _ in 0..3 {
        call(&harness, Stateful).await.unwrap();
        tokio::time::sleep(secs(600)).await;
    }
    assert_eq!((server.take_calls(), server.attempts()), (vec![Stateless; 3], 2));
    assert!(harness.take_events().is_empty(), "that is no fault");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn failed_attempt_is_made_again_later() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    server.answers_next(Err(ScriptedServer::error(FailureKind::TemporaryNetwork)));
    for _ in 0..2 {
        call(&harness, Stateful).await.unwrap();
    }
    assert_eq!((server.take_calls(), server.attempts()), (vec![Stateless; 2], 2));
    harness.settle().await;
    let events = harness.take_events();
    assert!(events.len() == 1 && events[0].starts_with("one log: Gatehouse: no second"), "{events:?}");
    tokio::time::sleep(secs(61)).await;
    call(&harness, Stateful).await.unwrap();
    assert_eq!(server.take_calls(), [Stateful]);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn closed_when_idle() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    call(&harness, Stateful).await.unwrap();
    tokio::time::sleep(secs(14 * 60)).await;
    call(&harness, Stateful).await.unwrap();
    tokio::time::sleep(secs(14 * 60)).await;
    assert_eq!(server.open_now(), 2, "it was used");
    tokio::time::sleep(secs(2 * 60)).await;
    assert_eq!(server.open_now(), 1);
    call(&harness, Stateful).await.unwrap();
    assert_eq!(server.take_calls(), [Stateful; 3]);
    assert!(harness.take_events().is_empty());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn its_end_leaves_the_server_connected() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    call(&harness, Stateful).await.unwrap();
    server.dies("the session ended");
    harness.settle().await;
    assert_eq!(server.open_now(), 1);
    call(&harness, Stateful).await.unwrap();
    assert_eq!(server.take_calls(), [Stateful; 2]);
    // The newest connection is the second one: it is silent, the main one is not.
    server.falls_silent();
    tokio::time::sleep(secs(180)).await;
    assert_eq!(server.open_now(), 1, "a silent one is given up");
    assert!(harness.take_events().is_empty());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn ends_with_the_main_connection() {
    let harness = connected(http("one")).await;
    let server = harness.server("one");
    server.dies("the main one ended");
    harness.wait_for_event("one failed").await;
    harness.wait_for_event("one connected").await;
    call(&harness, Stateful).await.unwrap();
    server.falls_silent();
    let handle = harness.handle("one");
    let running = tokio::spawn(async move { handle.call(call_of(Stateful)).await });
    harness.settle().await;
    harness.manager.stop(&"one".into()).await.unwrap();
    let error = running.await.unwrap().unwrap_err();
    assert!(matches!(error.kind, UpstreamErrorKind::Closed { .. }), "{error:?}");
    assert_eq!(server.open_now(), 0);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_for_remote_servers_that_are_not_pinned() {
    let with = |transport: Transport, version: ProtocolVersionSetting| {
        let mut server = http("one");
        (server.config.transport, server.config.protocol_version) = (transport, version);
        server
    };
    let remote = || Transport::Http(Remote::at("http://one/mcp"));
    let stdio = Transport::Stdio {
        command: "one".into(),
        args: Vec::new(),
        env: Default::default(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    for config in [
        with(remote(), ProtocolVersionSetting::Stateless),
        with(remote(), ProtocolVersionSetting::Stateful),
        with(stdio, ProtocolVersionSetting::Auto),
    ] {
        let harness = connected(config).await;
        call(&harness, Stateful).await.unwrap();
        assert_eq!(
            (harness.server("one").take_calls(), harness.server("one").attempts()),
            (vec![Stateless], 1)
        );
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn pinning_a_revision_reconnects() {
    let harness = connected(http("one")).await;
    let generation = harness.handle("one").config().generation;
    let mut pinned = http("one");
    pinned.config.protocol_version = ProtocolVersionSetting::Stateful;
    harness.put(pinned).await;
    harness.wait_for_event("one connecting").await;
    harness.wait_for_event("one connected").await;
    assert_eq!(harness.handle("one").config().generation, generation, "it is the same server");
    harness.end().await;
}
