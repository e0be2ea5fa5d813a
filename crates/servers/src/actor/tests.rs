//! Tests of actors: the exact order of events while a scripted server behaves as told and time is
//! paused.

use gatehouse_model::status::FailureKind;
use serde_json::json;

use crate::actor::refresh::SHORTEST_FRESH;
use crate::actor::script::{House, Server, http, lists_of, secs, upstream};
use crate::connection::{Era, Inbound};
use crate::handle::CallError;
use crate::transition::Failure;

#[tokio::test(start_paused = true)]
async fn a_start_that_succeeds() {
    let house = House::new();
    house.put(http("one")).await;
    house.server("one").wait_for_attempts(1).await;
    assert_eq!(house.story(), ["one added", "one connecting 1 (user)"]);
    house.server("one").opens();
    house.sees("one connected").await;
    assert_eq!(
        house.story(),
        ["one connected (handshake)", "one started", "running: one", "one tools changed"]
    );
    assert_eq!(house.handle("one").lists().tools[0].name, "echo");
    house.end().await;
    assert_eq!(house.story(), ["one stopped (shutdown)", "one ended", "running: "]);
    assert_eq!(house.server("one").open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_fail_are_repeated_and_given_up() {
    let house = House::new();
    let server = house.server("one");
    server.refuses_always(FailureKind::TemporaryNetwork);
    let begun = tokio::time::Instant::now();
    house.put(http("one")).await;
    house.sees("one failed 6").await;
    let mut expected = vec!["one added".to_owned(), "one connecting 1 (user)".to_owned()];
    for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)] {
        expected.push(format!("one failed {attempt}, again in {wait} s (attempt_failed)"));
        expected.push(format!("one connecting {} (retry)", attempt + 1));
    }
    expected.push("one failed 6 (attempt_failed)".to_owned());
    assert_eq!(house.story(), expected);
    assert_eq!(begun.elapsed().as_secs(), 31);
    tokio::time::sleep(secs(3600)).await;
    assert_eq!(server.attempts(), 6, "given up means given up");
    assert!(house.story().is_empty());
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_repeated() {
    for (kind, said) in [
        (FailureKind::PermanentNetwork, "one failed 1 (attempt_failed)"),
        (FailureKind::Configuration, "one failed 1 (attempt_failed)"),
        (FailureKind::Protocol, "one failed 1 (attempt_failed)"),
        (FailureKind::Authorization, "one needs_auth (challenge)"),
    ] {
        let house = House::new();
        house.server("one").refuses_always(kind);
        house.put(http("one")).await;
        house.sees(said).await;
        tokio::time::sleep(secs(3600)).await;
        assert_eq!(house.server("one").attempts(), 1, "{kind:?}");
        house.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn sign_in_is_asked_for_once_and_calls_are_told() {
    let house = House::new();
    let server = house.server("one");
    server.answers_next(Err(Failure::NeedsAuth { issuer: Some("https://issuer".to_owned()) }));
    house.put(http("one")).await;
    house.sees("one sign in").await;
    assert_eq!(
        house.story(),
        ["one added", "one connecting 1 (user)", "one needs_auth (challenge)", "one sign in"]
    );
    assert_eq!(house.call("one").await.unwrap_err(), CallError::NeedsAuth);
    assert_eq!(server.attempts(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_crash_cuts_short_says_how_the_server_ended() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.is_deaf_to(Some("tools/call"));
    let call = house.spawn_call("one");
    house.settle().await;
    server.dies("The process ended with exit code 7.");
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(&error, CallError::Closed { reason } if reason.contains("exit code 7")), "{error:?}");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_told_with_its_reason_and_followed_by_a_new_connection() {
    let house = House::connected("one").await;
    let server = house.server("one");
    tokio::time::sleep(secs(20)).await;
    server.says(Inbound::Stderr(House::line("last words")));
    server.dies("The process ended with exit code 3.");
    house.sees("one connected").await;
    assert_eq!(
        house.story(),
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
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_success_resets_the_count() {
    let house = House::new();
    let server = house.server("one");
    for _ in 0..3 {
        server.answers_next(Err(Server::error(FailureKind::TemporaryNetwork)));
    }
    server.opens();
    house.put(http("one")).await;
    house.sees("one connected").await;
    tokio::time::sleep(secs(20)).await;
    house.story();
    server.dies("gone");
    house.sees("one connecting 2").await;
    assert!(house.story().contains(&"one failed 1, again in 1 s (unexpected_close: gone)".to_owned()));
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_connecting_ends_the_attempt() {
    let house = House::new();
    let server = house.server("one");
    house.put(http("one")).await;
    server.wait_for_attempts(1).await;
    let waiting = house.spawn_call("one");
    house.settle().await;
    house.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(house.story(), ["one added", "one connecting 1 (user)", "one stopped (user)"]);
    assert_eq!(server.cancelled(), 1);
    assert!(matches!(waiting.await.unwrap().unwrap_err(), CallError::Unavailable { .. }));
    tokio::time::sleep(secs(3600)).await;
    assert!(house.story().is_empty());
    assert_eq!(server.attempts(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_until_nothing_is_left_and_a_start_after_it_too() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.closes_slowly(secs(3));
    let begun = tokio::time::Instant::now();
    house.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!(house.story(), ["one stopped (user)", "one ended", "running: "]);
    house.manager.start(&"one".into()).await.unwrap();
    house.sees("one connected").await;
    house.manager.reconnect(&"one".into()).await.unwrap();
    house.sees("one connecting").await;
    house.sees("one connected").await;
    assert_eq!(server.most_open(), 1, "never two at once");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_the_connection_while_connecting_begins_anew() {
    let house = House::new();
    let server = house.server("one");
    house.put(http("one")).await;
    server.wait_for_attempts(1).await;
    let waiting = house.spawn_call("one");
    house.settle().await;
    let edited = house.manager.put(http("one").at("http://other/mcp").config).await.unwrap();
    assert_eq!(edited.generation.0, 1, "another connection is another generation");
    server.wait_for_attempts(2).await;
    server.opens();
    house.sees("one connected").await;
    assert_eq!(
        house.story(),
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
    assert_eq!(house.handle("one").lists().generation.0, 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_does_not_touch_the_connection_leaves_it_alone() {
    let house = House::connected("one").await;
    let mut config = http("one").config;
    config.name = "renamed".to_owned();
    config.look.description = Some("What it is for".to_owned());
    config.limits.call_secs = gatehouse_model::server::TimeLimit::Secs(5);
    house.manager.put(config).await.unwrap();
    house.settle().await;
    assert!(house.story().is_empty());
    assert_eq!(house.server("one").attempts(), 1);
    assert_eq!(house.manager.list()[0].config.name, "renamed");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn starting_twice_makes_one_connection() {
    let house = House::new();
    let server = house.server("one");
    house.put(http("one")).await;
    for _ in 0..3 {
        house.manager.start(&"one".into()).await.unwrap();
    }
    server.wait_for_attempts(1).await;
    server.opens();
    house.sees("one connected").await;
    house.manager.start(&"one".into()).await.unwrap();
    house.settle().await;
    assert_eq!(server.attempts(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn starting_a_disabled_server_enables_it_and_a_reconnect_does_not() {
    let house = House::new();
    let server = house.server("one");
    server.opens();
    house.put(http("one").disabled()).await;
    assert_eq!(house.manager.list()[0].status.word(), "disabled");
    house.manager.reconnect(&"one".into()).await.unwrap_err();
    assert!(matches!(house.call("one").await.unwrap_err(), CallError::Unavailable { .. }));
    assert_eq!(server.attempts(), 0);
    house.manager.start(&"one".into()).await.unwrap();
    house.sees("one connected").await;
    assert!(house.manager.list()[0].config.enabled);
    house.manager.put(http("one").disabled().config).await.unwrap();
    house.sees("one disabled").await;
    house.settle().await;
    assert_eq!(server.open_now(), 0);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_stopped_server_waits_for_one_attempt() {
    let house = House::new();
    let server = house.server("one");
    house.put(http("one").by_hand()).await;
    house.settle().await;
    assert_eq!(server.attempts(), 0);
    let calls = [house.spawn_call("one"), house.spawn_call("one")];
    server.wait_for_attempts(1).await;
    server.opens();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().result().unwrap().get(), r#"{"content":[]}"#);
    }
    assert_eq!(server.attempts(), 1);
    assert!(house.story().contains(&"one connecting 1 (call)".to_owned()));

    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_start_what_somebody_stopped() {
    let house = House::connected("one").await;
    let server = house.server("one");
    let attempts = server.attempts();
    house.manager.stop(&"one".into()).await.unwrap();
    assert!(house.handle("one").is_held());
    let refused = house.call("one").await.unwrap_err();
    assert_eq!(refused, CallError::Unavailable { status: gatehouse_model::ServerStatus::Stopped });
    assert_eq!(server.attempts(), attempts);
    server.opens();
    house.manager.start(&"one".into()).await.unwrap();
    house.sees("one connected").await;
    assert!(!house.handle("one").is_held());
    house.call("one").await.unwrap();
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_found_and_reconnected() {
    for era in [Era::Stateful, Era::Stateless] {
        let house = House::new();
        let server = house.server("one");
        server.speaks(era);
        server.opens();
        house.put(http("one")).await;
        house.sees("one connected").await;
        house.story();
        tokio::time::sleep(secs(310)).await;
        assert!(house.story().is_empty(), "a living server is left alone");
        let method = if era == Era::Stateful { "ping" } else { "server/discover" };
        assert_eq!(server.asked(method), 10);
        server.falls_silent();
        house.sees("one connected").await;
        assert_eq!(
            house.story(),
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
        assert_eq!(server.asked(method), 13, "three misses in a row");
        house.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_with_a_call_is_not_restarted() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.falls_silent();
    let call = house.spawn_call("one");
    tokio::time::sleep(secs(290)).await;
    assert!(house.story().is_empty());
    assert!(matches!(call.await.unwrap().unwrap_err(), CallError::TimedOut { after } if after == secs(300)));
    house.sees("one failed").await;
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_call_makes_the_connection_doubtful_at_once() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.breaks_calls();
    assert!(matches!(house.call("one").await.unwrap_err(), CallError::Transport(_)));
    house.settle().await;
    assert_eq!(server.asked("ping"), 1, "looked at without waiting for the next check");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn changes_are_read_once_after_a_while() {
    let house = House::connected("one").await;
    let server = house.server("one");
    let before = server.asked("tools/list");
    server.offers(lists_of(&["echo", "add"]));
    for _ in 0..5 {
        server.says(Inbound::ToolsChanged);
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    assert_eq!(server.asked("tools/list"), before, "not before 200 ms");
    house.sees("one tools changed").await;
    assert_eq!(server.asked("tools/list"), before + 1);
    assert_eq!(house.manager.list()[0].counts.tools, 2);
    server.says(Inbound::ToolsChanged);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.asked("tools/list"), before + 2);
    assert_eq!(house.story(), ["one tools changed"], "the same list again is no change");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_goes_stale_is_read_again_unless_the_server_tells_of_changes() {
    for (capabilities, readings) in [(r#"{"tools":{}}"#, 5), (r#"{"tools":{"listChanged":true}}"#, 0)] {
        let house = House::new();
        let server = house.server("one");
        server.declares(capabilities);
        server.offers(json!({ "tools": [], "ttlMs": 0 }));
        server.opens();
        house.put(http("one")).await;
        house.sees("one connected").await;
        let before = server.asked("tools/list");
        tokio::time::sleep(SHORTEST_FRESH * 5 + secs(1)).await;
        assert_eq!(server.asked("tools/list") - before, readings, "{capabilities}");
        house.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_an_older_connection_is_not_taken() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.offers(lists_of(&["old"]));
    server.answers_lists_after(secs(20));
    server.says(Inbound::ToolsChanged);
    tokio::time::sleep(secs(1)).await;
    server.answers_lists_after(secs(0));
    server.offers(lists_of(&["new"]));
    house.manager.reconnect(&"one".into()).await.unwrap();
    house.sees("one connected").await;
    tokio::time::sleep(secs(120)).await;
    assert_eq!(house.handle("one").lists().tools[0].name, "new");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn lists_stay_while_a_server_is_away() {
    let house = House::connected("one").await;
    house.manager.stop(&"one".into()).await.unwrap();
    assert_eq!(house.handle("one").lists().tools[0].name, "echo");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_not_declared_is_not_asked() {
    let house = House::connected("one").await;
    let server = house.server("one");
    assert_eq!(server.asked("prompts/list") + server.asked("resources/list"), 0);
    let reply = house.call_method("one", "prompts/get").await.unwrap();
    assert!(reply.result().is_none());
    assert_eq!(server.asked("prompts/get"), 0);
    server.says(Inbound::PromptsChanged);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.asked("prompts/list"), 0);

    let bare = house.server("bare");
    bare.declares("{}");
    bare.opens();
    house.put(http("bare")).await;
    house.sees("bare connected").await;
    assert_eq!(bare.asked("ping"), 1, "a sign of life instead of a list");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_counts_as_connected_only_when_it_has_answered() {
    let house = House::new();
    let server = house.server("one");
    server.opens_silent();
    house.put(http("one")).await;
    house.sees("one failed 1").await;
    let story = house.story();
    assert!(!story.iter().any(|line| line.contains("connected (")), "{story:?}");
    house.settle().await;
    assert_eq!(server.open_now(), 0, "what did not answer is closed");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_slow_server_holds_up_no_other() {
    let house = House::new();
    house.server("quick").opens();
    house.manager.load(vec![http("slow").config, http("quick").config, http("broken").config]).await;
    house.sees("quick connected").await;
    assert!(house.story().contains(&"quick connecting 1 (launch)".to_owned()));
    assert_eq!(house.handle("slow").status().word(), "connecting");
    let begun = tokio::time::Instant::now();
    house.sees("slow failed 1").await;
    assert_eq!(begun.elapsed().as_secs(), 30, "the limit for connecting");
    house.manager.load(vec![http("quick").config]).await;
    house.sees("slow removed").await;
    assert_eq!(house.manager.list().len(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_cancels_calls_and_keeps_connections() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.falls_silent();
    let calls = [house.spawn_call("one"), house.spawn_call("one")];
    house.settle().await;
    house.manager.cancel_all().await;
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err(), CallError::Cancelled);
    }
    assert_eq!(server.dropped_calls(), 2, "upstream is told");
    assert_eq!(house.handle("one").status().word(), "connected");
    server.wakes_up();
    house.call("one").await.unwrap();
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_for_one_generation_is_not_sent_to_another() {
    let house = House::connected("one").await;
    let server = house.server("one");
    let allowed_for = house.handle("one").config().generation;
    house.call_generation("one", allowed_for).await.unwrap();
    house.manager.put(http("one").at("http://other/mcp").config).await.unwrap();
    house.sees("one connected").await;
    let sent = server.asked("tools/call");
    assert!(matches!(house.call_generation("one", allowed_for).await.unwrap_err(), CallError::Closed { .. }));
    assert_eq!(server.asked("tools/call"), sent);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn names_are_unique() {
    let house = House::new();
    house.put(http("one").by_hand()).await;
    let mut twin = http("two").by_hand().config;
    twin.name = "one".to_owned();
    let problem = house.manager.put(twin).await.unwrap_err();
    assert_eq!(problem.code, gatehouse_model::ErrorCode::NameTaken);
    assert_eq!(house.manager.list().len(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_test_leaves_nothing_behind() {
    let house = House::new();
    let server = house.server("one");
    server.opens();
    let tried = house.manager.test(http("one").config).await.unwrap();
    let tools: Vec<_> = tried.lists.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["echo"]);
    server.answers_next(Err(Server::error(FailureKind::Configuration)));
    assert!(house.manager.test(http("one").config).await.unwrap_err().why.is_some());
    server.opens_silent();
    let begun = tokio::time::Instant::now();
    house.manager.test(http("one").config).await.unwrap_err();
    assert_eq!(begun.elapsed().as_secs(), 30);
    let abandoned = tokio::time::timeout(secs(1), house.manager.test(http("one").config)).await;
    assert!(abandoned.is_err());
    house.settle().await;
    assert_eq!(server.open_now(), 0);
    assert!(house.story().is_empty() && house.manager.list().is_empty());
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_in_time_whatever_a_server_does() {
    let house = House::connected("one").await;
    house.server("one").closes_slowly(secs(100_000));
    let begun = tokio::time::Instant::now();
    house.manager.shutdown().await;
    assert_eq!(begun.elapsed().as_secs(), 10);
    assert_eq!(house.server("one").open_now(), 0, "dropped");
    house.manager.put(http("two").config).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_lost_manager_stops_its_servers() {
    let house = House::connected("one").await;
    let server = house.server("one");
    drop(house);
    tokio::time::sleep(secs(1)).await;
    assert_eq!(server.open_now(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_log_keeps_the_last_lines() {
    let house = House::connected("one").await;
    for number in 0..250 {
        house.server("one").says(Inbound::Stderr(House::line(&format!("line {number}"))));
        house.settle().await;
    }
    let log = house.manager.get(&"one".into()).unwrap().log();
    assert_eq!((log.len(), log[0].text.as_str(), log[199].text.as_str()), (200, "line 50", "line 249"));
    let tail = &house.manager.list()[0].log_tail;
    assert_eq!((tail.len(), tail[0].text.as_str(), tail[19].text.as_str()), (20, "line 230", "line 249"));
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_change_raises_the_revision() {
    let house = House::new();
    let mut revision = house.manager.revision();
    let server = house.server("one");
    server.opens();
    house.put(http("one").by_hand()).await;
    assert!(revision.has_changed().unwrap());
    revision.mark_unchanged();
    house.manager.start(&"one".into()).await.unwrap();
    house.sees("one connected").await;
    assert!(revision.has_changed().unwrap());
    revision.mark_unchanged();
    let mut config = http("one").by_hand().config;
    config.look.group = Some("work".to_owned());
    house.manager.put(config).await.unwrap();
    house.settle().await;
    assert!(revision.has_changed().unwrap());
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_its_connection() {
    let house = House::connected("one").await;
    let server = house.server("one");
    server.falls_silent();
    let call = house.spawn_call("one");
    house.settle().await;
    house.manager.stop(&"one".into()).await.unwrap();
    assert!(matches!(call.await.unwrap().unwrap_err(), CallError::Closed { .. }));
    assert_eq!(server.dropped_calls(), 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_judged_by_other_lists_is_not_sent() {
    let house = House::connected("one").await;
    let server = house.server("one");
    let handle = house.handle("one");
    let judged_by = handle.lists();
    let cancel = tokio_util::sync::CancellationToken::new();
    assert!(!handle.ready(&cancel).await.unwrap(), "nothing to wait for");
    handle.call_as_listed(&judged_by, upstream("tools/call")).await.unwrap().unwrap();
    server.offers(lists_of(&["another"]));
    server.says(Inbound::ToolsChanged);
    house.sees("one tools changed").await;
    let sent = server.asked("tools/call");
    assert!(handle.call_as_listed(&judged_by, upstream("tools/call")).await.unwrap().is_none());
    house.manager.stop(&"one".into()).await.unwrap();
    assert!(handle.call_as_listed(&handle.lists(), upstream("tools/call")).await.unwrap().is_none());
    assert_eq!(server.asked("tools/call"), sent);
    assert!(handle.ready(&cancel).await.is_err(), "it stays stopped");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_answered_is_kept_and_asked_for_later() {
    let house = House::new();
    let server = house.server("one");
    server.declares(r#"{"tools":{},"prompts":{}}"#);
    server.opens();
    house.put(http("one")).await;
    house.sees("one prompts changed").await;
    server.is_deaf_to(Some("prompts/list"));
    house.manager.reconnect(&"one".into()).await.unwrap();
    let begun = tokio::time::Instant::now();
    house.sees("one connected").await;
    assert_eq!(begun.elapsed().as_secs(), 5, "what need not be answered holds nothing up for long");
    assert_eq!(house.manager.list()[0].counts.prompts, 1, "as it was");
    server.is_deaf_to(None);
    let asked = server.asked("prompts/list");
    tokio::time::sleep(secs(40)).await;
    assert_eq!(server.asked("prompts/list"), asked + 1);
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_switch_stops_all_and_keeps_all_stopped_until_it_is_on_again() {
    let house = House::connected("one").await;
    let (one, two, three) = (house.server("one"), house.server("two"), house.server("three"));
    two.refuses_always(FailureKind::TemporaryNetwork);
    house.put(http("two")).await;
    house.sees("two failed 1").await;
    house.put(http("three").by_hand()).await;
    house.story();
    house.manager.set_on(false).await;
    assert!(!house.manager.is_on());
    let statuses = || house.manager.list().iter().map(|one| one.status.word().to_owned()).collect::<Vec<_>>();
    assert_eq!(statuses(), ["stopped", "stopped", "stopped"]);
    assert_eq!(one.open_now(), 0, "nothing runs when the switch has answered");
    let before = (one.attempts(), two.attempts(), three.attempts());

    assert_eq!(house.call("one").await.unwrap_err(), CallError::SwitchedOff);
    assert_eq!(house.call("three").await.unwrap_err(), CallError::SwitchedOff);
    assert!(house.manager.start(&"one".into()).await.is_err());
    assert!(house.manager.reconnect(&"one".into()).await.is_err());
    house.put(http("one").at("http://elsewhere/mcp")).await;
    house.put(http("four")).await;
    tokio::time::sleep(secs(3600)).await;
    assert_eq!((one.attempts(), two.attempts(), three.attempts()), before);
    assert_eq!(house.server("four").attempts(), 0);
    assert_eq!(statuses(), ["stopped"; 4]);

    one.opens();
    house.server("four").opens();
    house.manager.set_on(true).await;
    house.sees("one connected").await;
    house.sees("four connected").await;
    house.call("one").await.unwrap();
    assert_eq!(three.attempts(), before.2, "it does not start by itself");
    house.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_ends_with_the_switch() {
    let house = House::connected("one").await;
    house.server("one").falls_silent();
    let call = house.spawn_call("one");
    house.settle().await;
    house.manager.set_on(false).await;
    let Err(CallError::Closed { reason }) = call.await.unwrap() else { panic!("it went on") };
    assert!(reason.contains("switched off"), "{reason}");
    house.end().await;
}
