//! Tests of actors: the exact order of events while a scripted server behaves as told and time is
//! paused.

use std::collections::HashMap;

use gatehouse_mcp_client::{Inbound, UpstreamErrorKind};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::ServerConfig;
use gatehouse_model::status::FailureKind;

use super::scripted_server::{ActorHarness, ScriptedServer, http, secs};
use crate::manager::ListPosition;
use crate::transition::ConnectFailure;

#[tokio::test(start_paused = true)]
async fn start_connects_and_publishes_events() {
    let harness = ActorHarness::new();
    harness.put(http("one")).await;
    harness.server("one").wait_for_attempts(1).await;
    assert_eq!(harness.take_events(), ["one added", "one connecting 1 (user)"]);
    harness.server("one").opens();
    harness.wait_for_event("one connected").await;
    assert_eq!(
        harness.take_events(),
        ["one connected (handshake)", "one started", "running: one", "one tools changed"]
    );
    assert_eq!(harness.handle("one").lists().tools[0].name, "echo");
    harness.end().await;
    assert_eq!(harness.take_events(), ["one stopped (shutdown)", "one ended", "running: "]);
    assert_eq!(harness.server("one").open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn retries_five_times_then_fails() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.refuses_always(FailureKind::TemporaryNetwork);
    let begun = tokio::time::Instant::now();
    harness.put(http("one")).await;
    harness.wait_for_event("one failed 6").await;
    let mut expected = vec!["one added".to_owned(), "one connecting 1 (user)".to_owned()];
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)] {
        expected.push(format!("one failed {attempt}, again in {wait} s (attempt_failed)"));
        expected.push(format!("one connecting {} (retry)", attempt + 1));
    }
    expected.push("one failed 6 (attempt_failed)".to_owned());
    assert_eq!(harness.take_events(), expected);
    assert_eq!(begun.elapsed().as_secs(), 31);
    tokio::time::sleep(secs(3600)).await;
    assert_eq!(server.attempts(), 6, "given up means given up");
    assert!(harness.take_events().is_empty());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn does_not_retry_permanent_failures() {
    for (kind, said) in [
        (FailureKind::PermanentNetwork, "one failed 1 (attempt_failed)"),
        (FailureKind::Configuration, "one failed 1 (attempt_failed)"),
        (FailureKind::Protocol, "one failed 1 (attempt_failed)"),
        (FailureKind::Authorization, "one needs_auth (challenge)"),
    ] {
        let harness = ActorHarness::new();
        harness.server("one").refuses_always(kind);
        harness.put(http("one")).await;
        harness.wait_for_event(said).await;
        tokio::time::sleep(secs(3600)).await;
        assert_eq!(harness.server("one").attempts(), 1, "{kind:?}");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn requests_sign_in_once_and_fails_calls() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.answers_next(Err(ConnectFailure::NeedsAuth { issuer: Some("https://issuer".to_owned()) }));
    harness.put(http("one")).await;
    harness.wait_for_event("one sign in").await;
    assert_eq!(
        harness.take_events(),
        ["one added", "one connecting 1 (user)", "one needs_auth (challenge)", "one sign in"]
    );
    assert!(matches!(harness.call("one").await.unwrap_err().kind, UpstreamErrorKind::NeedsAuth { .. }));
    assert_eq!(server.attempts(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn call_cut_short_by_crash_reports_exit() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.is_deaf_to(Some("tools/call"));
    let call = harness.spawn_call("one");
    harness.settle().await;
    server.dies("The process ended with exit code 7.");
    let error = call.await.unwrap().unwrap_err();
    assert!(
        matches!(&error.kind, UpstreamErrorKind::Closed { reason } if reason.to_string().contains("exit code 7")),
        "{error:?}"
    );
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn crash_is_reported_and_reconnected() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    tokio::time::sleep(secs(20)).await;
    server.says(Inbound::Stderr(ActorHarness::line("last words")));
    server.dies("The process ended with exit code 3.");
    harness.wait_for_event("one connected").await;
    assert_eq!(
        harness.take_events(),
        [
            "one log: last words",
            "one failed 1, again in 1 s (unexpected_close: The process ended with exit code 3.)",
            "one ended",
            "running: ",
            "one connecting 2 (retry)",
            "one connected (handshake)",
            "one started",
            "running: one",
        ],
        "lists that are the same are not told again"
    );
    assert_eq!(server.most_open(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn success_resets_attempt_count() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    for _ in 0..3 {
        server.answers_next(Err(ScriptedServer::error(FailureKind::TemporaryNetwork)));
    }
    server.opens();
    harness.put(http("one")).await;
    harness.wait_for_event("one connected").await;
    tokio::time::sleep(secs(20)).await;
    harness.take_events();
    server.dies("gone");
    harness.wait_for_event("one connecting 2").await;
    assert!(
        harness.take_events().contains(&"one failed 1, again in 1 s (unexpected_close: gone)".to_owned())
    );
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn stop_cancels_connecting_attempt() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    harness.put(http("one")).await;
    server.wait_for_attempts(1).await;
    let waiting = harness.spawn_call("one");
    harness.settle().await;
    harness.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(harness.take_events(), ["one added", "one connecting 1 (user)", "one stopped (user)"]);
    assert_eq!(server.cancelled(), 1);
    assert!(matches!(waiting.await.unwrap().unwrap_err().kind, UpstreamErrorKind::Unavailable { .. }));
    tokio::time::sleep(secs(3600)).await;
    assert!(harness.take_events().is_empty());
    assert_eq!(server.attempts(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn stop_and_start_wait_for_old_connection() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.closes_slowly(secs(3));
    let begun = tokio::time::Instant::now();
    harness.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!(harness.take_events(), ["one stopped (user)", "one ended", "running: "]);
    harness.manager.start(&"one".into()).await.unwrap();
    harness.wait_for_event("one connected").await;
    harness.manager.reconnect(&"one".into()).await.unwrap();
    harness.wait_for_event("one connecting").await;
    harness.wait_for_event("one connected").await;
    assert_eq!(server.most_open(), 1, "never two at once");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn transport_edit_restarts_connecting_attempt() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    harness.put(http("one")).await;
    server.wait_for_attempts(1).await;
    let waiting = harness.spawn_call("one");
    harness.settle().await;
    let edited = harness.manager.put(http("one").at("http://other/mcp").config).await.unwrap();
    assert_eq!(edited.generation.0, 1, "another connection is another generation");
    server.wait_for_attempts(2).await;
    server.opens();
    harness.wait_for_event("one connected").await;
    assert_eq!(
        harness.take_events(),
        [
            "one added",
            "one connecting 1 (user)",
            "one connecting 1 (edited)",
            "one connected (handshake)",
            "one started",
            "running: one",
            "one tools changed",
            "one resources changed",
            "one prompts changed"
        ]
    );
    assert_eq!(server.cancelled(), 1);
    waiting.await.unwrap().unwrap();
    assert_eq!(harness.handle("one").lists().generation.0, 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn cosmetic_edit_keeps_connection() {
    let harness = ActorHarness::connected("one").await;
    let mut config = http("one").config;
    config.name = "renamed".to_owned();
    config.look.description = Some("What it is for".to_owned());
    config.limits.call_secs = gatehouse_model::server::TimeLimit::Secs(5);
    harness.manager.put(config).await.unwrap();
    harness.settle().await;
    assert!(harness.take_events().is_empty());
    assert_eq!(harness.server("one").attempts(), 1);
    assert_eq!(harness.manager.list()[0].config.name, "renamed");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn repeated_start_makes_one_connection() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    harness.put(http("one")).await;
    for _ in 0..3 {
        harness.manager.start(&"one".into()).await.unwrap();
    }
    server.wait_for_attempts(1).await;
    server.opens();
    harness.wait_for_event("one connected").await;
    harness.manager.start(&"one".into()).await.unwrap();
    harness.settle().await;
    assert_eq!(server.attempts(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn start_enables_disabled_server_but_reconnect_does_not() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.opens();
    harness.put(http("one").disabled()).await;
    assert_eq!(harness.manager.list()[0].status.as_str(), "disabled");
    harness.manager.reconnect(&"one".into()).await.unwrap_err();
    assert!(matches!(harness.call("one").await.unwrap_err().kind, UpstreamErrorKind::Unavailable { .. }));
    assert_eq!(server.attempts(), 0);
    harness.manager.start(&"one".into()).await.unwrap();
    harness.wait_for_event("one connected").await;
    assert!(harness.manager.list()[0].config.enabled);
    harness.manager.put(http("one").disabled().config).await.unwrap();
    harness.wait_for_event("one disabled").await;
    harness.settle().await;
    assert_eq!(server.open_now(), 0);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn call_to_stopped_server_waits_for_one_attempt() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    harness.put(http("one").by_hand()).await;
    harness.settle().await;
    assert_eq!(server.attempts(), 0);
    let calls = [harness.spawn_call("one"), harness.spawn_call("one")];
    server.wait_for_attempts(1).await;
    server.opens();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().result().unwrap().get(), r#"{"content":[]}"#);
    }
    assert_eq!(server.attempts(), 1);
    assert!(harness.take_events().contains(&"one connecting 1 (call)".to_owned()));

    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn call_does_not_start_server_stopped_by_user() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    let attempts = server.attempts();
    harness.manager.stop(&"one".into()).await.unwrap();
    assert!(harness.handle("one").is_held());
    let refused = harness.call("one").await.unwrap_err();
    let stopped = UpstreamErrorKind::Unavailable { status: Box::new(gatehouse_model::ServerStatus::Stopped) };
    assert_eq!(refused.kind, stopped);
    assert_eq!(server.attempts(), attempts);
    server.opens();
    harness.manager.start(&"one".into()).await.unwrap();
    harness.wait_for_event("one connected").await;
    assert!(!harness.handle("one").is_held());
    harness.call("one").await.unwrap();
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn restored_server_is_as_it_was_removed() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    let id = "one".into();
    let restore = async |last| {
        let config = http("one").by_hand().config;
        harness.manager.restore(config, &ListPosition::default(), last).await.unwrap();
        harness.settle().await;
    };
    // It ran.
    let last = harness.manager.remove(&id).await.unwrap();
    restore(last).await;
    harness.wait_for_event("one connected").await;

    // The user stopped it, so a call doesn't start it.
    harness.manager.stop(&id).await.unwrap();
    let attempts = server.attempts();
    let last = harness.manager.remove(&id).await.unwrap();
    restore(last).await;
    let handle = harness.handle("one");
    assert_eq!((handle.status().as_str(), handle.is_held()), ("stopped", true));
    assert_eq!(handle.lists().tools[0].name, "echo");
    assert!(matches!(harness.call("one").await.unwrap_err().kind, UpstreamErrorKind::Unavailable { .. }));
    assert_eq!(server.attempts(), attempts);

    // Nothing needed it yet.
    harness.manager.remove(&id).await.unwrap();
    harness.put(http("one").by_hand()).await;
    let last = harness.manager.remove(&id).await.unwrap();
    restore(last).await;
    assert!(harness.handle("one").starts_when_called());
    assert_eq!(server.attempts(), attempts);
    harness.call("one").await.unwrap();
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn restored_server_of_another_generation_has_no_known_lists() {
    let harness = ActorHarness::connected("one").await;
    let last = harness.manager.remove(&"one".into()).await.unwrap();
    let config = http("one").config;
    let config = ServerConfig { generation: config.generation.next(), enabled: false, ..config };
    harness.manager.restore(config, &ListPosition::default(), last).await.unwrap();
    assert!(harness.handle("one").lists().is_unread());
    harness.settle().await;
    assert_eq!(
        harness.handle("one").status().as_str(),
        "disabled",
        "a restored server isn't enabled by that"
    );
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn reconnects_unresponsive_server() {
    for protocol_family in [ProtocolFamily::Stateful, ProtocolFamily::Stateless] {
        let harness = ActorHarness::new();
        let server = harness.server("one");
        server.speaks(protocol_family);
        server.opens();
        harness.put(http("one")).await;
        harness.wait_for_event("one connected").await;
        harness.take_events();
        tokio::time::sleep(secs(310)).await;
        assert!(harness.take_events().is_empty(), "a living server is left alone");
        let method = if protocol_family == ProtocolFamily::Stateful { "ping" } else { "server/discover" };
        assert_eq!(server.request_count(method), 10);
        server.falls_silent();
        harness.wait_for_event("one connected").await;
        assert_eq!(
            harness.take_events(),
            [
                "one failed 1, again in 1 s (unresponsive)",
                "one ended",
                "running: ",
                "one connecting 2 (retry)",
                "one connected (handshake)",
                "one started",
                "running: one",
            ]
        );
        assert_eq!(server.request_count(method), 13, "three misses in a row");
        harness.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn busy_server_is_not_restarted() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.falls_silent();
    let call = harness.spawn_call("one");
    tokio::time::sleep(secs(290)).await;
    assert!(harness.take_events().is_empty());
    assert!(
        matches!(call.await.unwrap().unwrap_err().kind, UpstreamErrorKind::TimedOut { after } if after == secs(300))
    );
    harness.wait_for_event("one failed").await;
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn failed_call_triggers_health_check() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.breaks_calls();
    assert!(matches!(harness.call("one").await.unwrap_err().kind, UpstreamErrorKind::Transport { .. }));
    harness.settle().await;
    assert_eq!(server.request_count("ping"), 1, "looked at without waiting for the next check");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn requires_answer_before_connected() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.opens_silent();
    harness.put(http("one")).await;
    harness.wait_for_event("one failed 1").await;
    let story = harness.take_events();
    assert!(!story.iter().any(|line| line.contains("connected (")), "{story:?}");
    harness.settle().await;
    assert_eq!(server.open_now(), 0, "what did not answer is closed");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn slow_server_does_not_block_others() {
    let harness = ActorHarness::new();
    harness.server("quick").opens();
    let configs = vec![http("slow").config, http("quick").config, http("broken").config];
    assert!(harness.manager.add_all(configs, HashMap::new()).is_empty());
    assert_eq!(harness.handle("quick").status().as_str(), "stopped");
    harness.manager.start_all().await;
    harness.wait_for_event("quick connected").await;
    assert!(harness.take_events().contains(&"quick connecting 1 (launch)".to_owned()));
    assert_eq!(harness.handle("slow").status().as_str(), "connecting");
    let begun = tokio::time::Instant::now();
    harness.wait_for_event("slow failed 1").await;
    assert_eq!(begun.elapsed().as_secs(), 30, "the limit for connecting");
    harness.manager.remove(&harness.handle("slow").config().id).await;
    harness.wait_for_event("slow removed").await;
    assert_eq!(harness.manager.list().len(), 2);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn cancel_all_cancels_calls_and_keeps_connections() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.falls_silent();
    let calls = [harness.spawn_call("one"), harness.spawn_call("one")];
    harness.settle().await;
    harness.manager.cancel_all().await;
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().kind, UpstreamErrorKind::Cancelled);
    }
    assert_eq!(server.dropped_calls(), 2, "upstream is told");
    assert_eq!(harness.handle("one").status().as_str(), "connected");
    server.wakes_up();
    harness.call("one").await.unwrap();
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn rejects_call_for_other_generation() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    let allowed_for = harness.handle("one").config().generation;
    harness.call_generation("one", allowed_for).await.unwrap();
    harness.manager.put(http("one").at("http://other/mcp").config).await.unwrap();
    harness.wait_for_event("one connected").await;
    let sent = server.request_count("tools/call");
    assert!(matches!(
        harness.call_generation("one", allowed_for).await.unwrap_err().kind,
        UpstreamErrorKind::Closed { .. }
    ));
    assert_eq!(server.request_count("tools/call"), sent);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn rejects_duplicate_name() {
    let harness = ActorHarness::new();
    harness.put(http("one").by_hand()).await;
    let mut twin = http("two").by_hand().config;
    twin.name = "one".to_owned();
    let problem = harness.manager.put(twin).await.unwrap_err();
    assert_eq!(problem.code, gatehouse_model::ErrorCode::NameTaken);
    assert_eq!(harness.manager.list().len(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn connection_test_leaves_nothing_running() {
    let harness = ActorHarness::new();
    let server = harness.server("one");
    server.opens();
    let tried = harness.manager.test(http("one").config).await.unwrap();
    let tools: Vec<_> = tried.lists.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["echo"]);
    server.answers_next(Err(ScriptedServer::error(FailureKind::Configuration)));
    assert!(harness.manager.test(http("one").config).await.unwrap_err().cause.is_some());
    server.opens_silent();
    let begun = tokio::time::Instant::now();
    harness.manager.test(http("one").config).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 30);
    let abandoned = tokio::time::timeout(secs(1), harness.manager.test(http("one").config)).await;
    assert!(abandoned.is_err());
    harness.settle().await;
    assert_eq!(server.open_now(), 0);
    assert!(harness.take_events().is_empty() && harness.manager.list().is_empty());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_is_bounded() {
    let harness = ActorHarness::connected("one").await;
    harness.server("one").closes_slowly(secs(100_000));
    let begun = tokio::time::Instant::now();
    harness.manager.shutdown().await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(harness.server("one").open_now(), 0, "dropped");
    harness.manager.put(http("two").config).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn dropping_manager_stops_servers() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    drop(harness);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn log_keeps_last_lines() {
    let harness = ActorHarness::connected("one").await;
    for number in 0..250 {
        harness.server("one").says(Inbound::Stderr(ActorHarness::line(&format!("line {number}"))));
        harness.settle().await;
    }
    let log = harness.manager.get(&"one".into()).unwrap().log();
    assert_eq!((log.len(), log[0].text.as_str(), log[199].text.as_str()), (200, "line 50", "line 249"));
    let tail = &harness.manager.list()[0].log_tail;
    assert_eq!((tail.len(), tail[0].text.as_str(), tail[19].text.as_str()), (20, "line 230", "line 249"));
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn changes_raise_revision() {
    let harness = ActorHarness::new();
    let mut revision = harness.manager.revision();
    let server = harness.server("one");
    server.opens();
    harness.put(http("one").by_hand()).await;
    assert!(revision.has_changed().unwrap());
    revision.mark_unchanged();
    harness.manager.start(&"one".into()).await.unwrap();
    harness.wait_for_event("one connected").await;
    assert!(revision.has_changed().unwrap());
    revision.mark_unchanged();
    let mut config = http("one").by_hand().config;
    config.look.group = Some("work".to_owned());
    harness.manager.put(config).await.unwrap();
    harness.settle().await;
    assert!(revision.has_changed().unwrap());
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn call_fails_when_connection_closes() {
    let harness = ActorHarness::connected("one").await;
    let server = harness.server("one");
    server.falls_silent();
    let call = harness.spawn_call("one");
    harness.settle().await;
    harness.manager.stop(&"one".into()).await.unwrap();
    assert!(matches!(call.await.unwrap().unwrap_err().kind, UpstreamErrorKind::Closed { .. }));
    assert_eq!(server.dropped_calls(), 1);
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn disabling_mcp_stops_and_blocks_all_servers() {
    let harness = ActorHarness::connected("one").await;
    let (one, two, three) = (harness.server("one"), harness.server("two"), harness.server("three"));
    two.refuses_always(FailureKind::TemporaryNetwork);
    harness.put(http("two")).await;
    harness.wait_for_event("two failed 1").await;
    harness.put(http("three").by_hand()).await;
    harness.take_events();
    harness.manager.set_mcp_enabled(false).await;
    assert!(!harness.manager.is_on());
    let statuses =
        || harness.manager.list().iter().map(|one| one.status.as_str().to_owned()).collect::<Vec<_>>();
    assert_eq!(statuses(), ["stopped", "stopped", "stopped"]);
    assert_eq!(one.open_now(), 0, "nothing runs when the switch has answered");
    let before = (one.attempts(), two.attempts(), three.attempts());

    assert_eq!(harness.call("one").await.unwrap_err().kind, UpstreamErrorKind::SwitchedOff);
    assert_eq!(harness.call("three").await.unwrap_err().kind, UpstreamErrorKind::SwitchedOff);
    assert!(harness.manager.start(&"one".into()).await.is_err());
    assert!(harness.manager.reconnect(&"one".into()).await.is_err());
    harness.put(http("one").at("http://elsewhere/mcp")).await;
    harness.put(http("four")).await;
    tokio::time::sleep(secs(3600)).await;
    assert_eq!((one.attempts(), two.attempts(), three.attempts()), before);
    assert_eq!(harness.server("four").attempts(), 0);
    assert_eq!(statuses(), ["stopped"; 4]);

    one.opens();
    harness.server("four").opens();
    harness.manager.set_mcp_enabled(true).await;
    harness.wait_for_event("one connected").await;
    harness.wait_for_event("four connected").await;
    harness.call("one").await.unwrap();
    assert_eq!(three.attempts(), before.2, "it does not start by itself");
    harness.end().await;
}

#[tokio::test(start_paused = true)]
async fn disabling_mcp_ends_running_call() {
    let harness = ActorHarness::connected("one").await;
    harness.server("one").falls_silent();
    let call = harness.spawn_call("one");
    harness.settle().await;
    harness.manager.set_mcp_enabled(false).await;
    let error = call.await.unwrap().expect_err("it went on");
    let UpstreamErrorKind::Closed { reason } = &error.kind else { panic!("{error:?}") };
    assert!(reason.to_string().contains("switched off"), "{reason}");
    harness.end().await;
}
