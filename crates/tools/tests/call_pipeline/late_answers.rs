//! Answers that come when nobody is there any more, and results that nobody received (PERM-11, TOOL-9):
//! one yes acts once, and only for the client and program that it was given to.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{Event, Rule};
use gatehouse_tools::{
    ApprovalWait, ByteLimits, Caller, ClientPresence, Evict, KeptKind, Peer, PeerId, Reservation, ToolCall,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::harness::*;

const MILK: &str = r#"{"text":"milk"}"#;
const MARK: &str = "gatehouse/earlierResult";

fn presence_call(is_there: &watch::Sender<bool>, arguments: &str) -> ToolCall {
    ToolCall { presence: Some(ClientPresence::new(is_there.subscribe())), ..call("add_note", arguments) }
}

fn from_program(path: &str) -> Caller {
    Caller { peer: peer(path), ..caller("Claude") }
}

fn from_peer(peer: Peer, session: Option<&str>) -> Caller {
    match session {
        Some(session) => Caller { peer, ..session_caller("Claude", session) },
        None => Caller { peer, ..caller("Claude") },
    }
}

fn changed(event: &Event) -> bool {
    matches!(event, Event::ApprovalChanged { .. })
}

async fn seconds(count: u64) {
    tokio::time::sleep(Duration::from_secs(count)).await;
}

/// A call that is allowed after so many seconds, and its result.
async fn allowed_after(harness: &ToolsHarness, wait: u64) -> Value {
    let running = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    seconds(wait).await;
    harness.allow(&approval).await;
    running.result().await
}

fn last_outcome(harness: &ToolsHarness) -> CallOutcome {
    harness.store.activity().flush();
    harness.store.activity().list(&Default::default()).unwrap().remove(0).outcome
}

#[tokio::test(start_paused = true)]
async fn approval_for_absent_client_becomes_ticket() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let is_there = watch::Sender::new(true);
    let left = harness.spawn_call_as(session_caller("Claude", "s"), presence_call(&is_there, MILK));
    let approval = harness.approval().await;
    seconds(12).await;
    is_there.send_replace(false);
    harness.wait_until(|harness| !harness.tools.approvals().pending()[0].waiting).await;
    harness.allow(&approval).await;
    let end = left.result().await;
    assert!(is_error(&end) && text(&end).contains("same arguments"), "{end}");
    assert_eq!(harness.note_count().await, 0);

    let again = harness.spawn_call_as(session_caller("Claude", "s"), call("add_note", MILK)).result().await;
    assert!(!is_error(&again) && again["_meta"].is_null(), "{again}");
    assert_eq!(harness.note_count().await, 1);
    assert!(!harness.is_allowed("add_note", MILK).await, "one use");
}

#[tokio::test(start_paused = true)]
async fn client_may_shorten_its_wait_and_is_told_when_it_is_over() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let wait_at_most = |seconds| Arc::new(ApprovalWait::new(Some(Duration::from_secs(seconds))));
    let spawn = |wait: &Arc<ApprovalWait>| {
        let call = ToolCall { approval_wait: Some(Arc::clone(wait)), ..call("add_note", MILK) };
        harness.spawn_call_as(caller("Claude"), call)
    };
    for seconds in [0, 7] {
        let (wait, start) = (wait_at_most(seconds), tokio::time::Instant::now());
        let end = spawn(&wait).result().await;
        assert!(is_error(&end) && text(&end).contains("same arguments") && wait.is_over(), "{end}");
        assert_eq!(start.elapsed().as_secs(), seconds);
        assert_eq!(harness.tools.approvals().pending().len(), 1, "the approval request stays");
    }
    let wait = wait_at_most(600);
    let running = spawn(&wait);
    harness.wait_until(|harness| harness.tools.approvals().pending()[0].waiting).await;
    let approval = harness.approval().await;
    harness.allow(&approval).await;
    assert!(!is_error(&running.result().await) && !wait.is_over());
    assert_eq!(harness.note_count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn returning_client_receives_answer() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let is_there = watch::Sender::new(true);
    let running = harness.spawn_call_as(session_caller("Claude", "s"), presence_call(&is_there, MILK));
    let approval = harness.approval().await;
    for there in [false, true] {
        is_there.send_replace(there);
        harness.wait_until(|harness| harness.tools.approvals().pending()[0].waiting == there).await;
    }
    harness.allow(&approval).await;
    assert!(!is_error(&running.result().await));

    // Back after the answer, the ticket is its own.
    let tea = r#"{"text":"tea"}"#;
    let running = harness.spawn_call_as(session_caller("Claude", "s"), presence_call(&is_there, tea));
    let approval = harness.approval().await;
    is_there.send_replace(false);
    harness.wait_until(|harness| !harness.tools.approvals().pending()[0].waiting).await;
    harness.allow(&approval).await;
    assert_eq!(harness.note_count().await, 1);
    is_there.send_replace(true);
    assert!(!is_error(&running.result().await));
    assert_eq!(harness.note_count().await, 2);
}

#[tokio::test(start_paused = true)]
async fn unreceived_result_is_replayed_once() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = allowed_after(&harness, 5).await;
    assert!(first["_meta"].is_null(), "{first}");
    seconds(60).await;
    let second = harness.call("add_note", MILK).await;
    assert_eq!(second["content"][0], first["content"][0]);
    assert_eq!(second["structuredContent"], first["structuredContent"]);
    assert!(second["_meta"][MARK]["secondsAgo"].as_u64().unwrap() >= 60, "{second}");
    assert!(second["content"][1]["text"].as_str().unwrap().contains("not run again"), "{second}");
    assert!(matches!(last_outcome(&harness), CallOutcome::Repeated { .. }));
    assert_eq!(harness.note_count().await, 1);
    assert!(!harness.is_allowed("add_note", MILK).await, "good once");
}

#[tokio::test(start_paused = true)]
async fn kept_result_is_bound_to_caller_and_dropped_by_pause() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let asks = async |caller: Caller, text: &str| {
        let running = harness.spawn_call_as(caller, call("add_note", text));
        let approval = harness.approval().await;
        harness.answer(&approval, deny_once(None)).await.unwrap();
        assert!(is_error(&running.result().await));
    };
    allowed_after(&harness, 2).await;
    asks(caller("Claude"), MILK).await;
    allowed_after(&harness, 5).await;
    asks(caller("Cursor"), MILK).await;
    asks(from_program("/usr/bin/other"), MILK).await;
    asks(caller("Claude"), r#"{"text":"milk "}"#).await;
    harness.tools.pause().await.unwrap();
    harness.tools.resume().await.unwrap();
    asks(caller("Claude"), MILK).await;
    allowed_after(&harness, 5).await;
    seconds(601).await;
    asks(caller("Claude"), MILK).await;
    allowed_after(&harness, 5).await;
    let generation = harness.servers.get(&"notes".into()).unwrap().config().generation;
    let next = gatehouse_model::Generation(generation.0 + 1);
    let edited = gatehouse_model::ServerConfig {
        generation: next,
        ..builtin("notes", gatehouse_model::server::Builtin::Notes)
    };
    harness.start_server(edited).await;
    harness
        .wait_until(|harness| {
            harness.tools.catalog().of_server(&"notes".into()).any(|tool| tool.generation() == next)
        })
        .await;
    asks(caller("Claude"), MILK).await;
    // A program that is not known is never the same as another one.
    let unknown = || from_peer(Peer::unseen(), None);
    let running = harness.spawn_call_as(unknown(), call("add_note", MILK));
    let approval = harness.approval().await;
    seconds(5).await;
    harness.allow(&approval).await;
    running.result().await;
    asks(unknown(), MILK).await;
}

/// Something else that is kept for a client.
struct Other;

impl Evict for Other {
    fn evict(&self) {}
}

/// Keeps as much for a client as it may have.
fn fill(harness: &ToolsHarness, client: &str) -> Reservation {
    let bytes = ByteLimits::default().client;
    let budget = harness.tools.retained_bytes();
    let (reservation, surplus) =
        budget.reserve(&client.into(), KeptKind::Finished, bytes, Weak::<Other>::new());
    surplus.evict();
    reservation
}

#[tokio::test(start_paused = true)]
async fn oldest_result_is_evicted_over_the_byte_limit_of_its_client() {
    for (client, is_kept) in [("Cursor", true), ("Claude", false)] {
        // The repeat teaches how long a client waits, so each begins anew.
        let harness = ToolsHarness::new().await;
        harness.start_notes_server().await;
        let first = allowed_after(&harness, 5).await;
        let full = fill(&harness, client);
        if is_kept {
            let second = harness.call("add_note", MILK).await;
            assert_eq!(second["content"][0], first["content"][0], "{client}");
        } else {
            assert!(!harness.is_allowed("add_note", MILK).await, "{client}");
        }
        drop(full);
        assert_eq!(harness.tools.retained_bytes().bytes(), 0, "{client}");
    }
    // What only a session could come for goes with it.
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let running = harness.spawn_call_as(from_peer(Peer::unseen(), Some("s")), call("add_note", MILK));
    let approval = harness.approval().await;
    seconds(5).await;
    harness.allow(&approval).await;
    assert!(!is_error(&running.result().await));
    assert!(harness.tools.retained_bytes().bytes() > 0);
    harness.tools.session_ended(&"s".into());
    assert_eq!(harness.tools.retained_bytes().bytes(), 0);
    // A pause drops what is kept, and gives its bytes back.
    allowed_after(&harness, 5).await;
    assert!(harness.tools.retained_bytes().bytes() > 0);
    harness.tools.pause().await.unwrap();
    assert_eq!(harness.tools.retained_bytes().bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn other_program_or_session_needs_own_approval() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call_as(session_caller("Claude", "a"), call("add_note", MILK));
    let shown = harness.approval().await;
    let thief = Caller { peer: peer("/tmp/thief"), ..session_caller("Claude", "a") };
    let others = [
        harness.spawn_call_as(thief, call("add_note", MILK)),
        harness.spawn_call_as(session_caller("Claude", "b"), call("add_note", MILK)),
    ];
    let all = harness.approvals(3).await;
    assert_eq!(all[0], shown, "what was shown stays as it was");
    assert!(all[1..].iter().all(|other| call_approval(other).hash != call_approval(&shown).hash));
    harness.allow(&shown).await;
    assert!(!is_error(&first.result().await));
    for approval in harness.approvals(2).await {
        harness.answer(&approval, deny_once(None)).await.unwrap();
    }
    for other in others {
        assert!(is_error(&other.result().await));
    }
    assert_eq!(harness.note_count().await, 1);
}

/// One interpreter runs many programs, and what it was started with tells none of them apart.
#[tokio::test(start_paused = true)]
async fn unknown_program_gets_its_own_approval_request() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let node = |pid, session| from_peer(unknown_peer("/usr/bin/node", pid), session);
    let unseen = |session| from_peer(Peer::unseen(), session);
    let known = |pid| Caller {
        peer: Peer { id: PeerId::Process { pid, started: 1 }, ..peer("/usr/bin/claude") },
        ..caller("Claude")
    };
    let connection = unseen(None);
    let cases = [
        ("two processes of a known program", known(1), known(2), true),
        ("one process", node(1, None), node(1, None), true),
        ("two processes", node(1, None), node(2, None), false),
        ("two processes in one session", node(1, Some("s")), node(2, Some("s")), false),
        ("two sessions of one process", node(1, Some("s")), node(1, Some("t")), false),
        ("one connection that is not seen", connection.clone(), connection, true),
        ("two of them", unseen(None), unseen(None), false),
        ("two of them in one session", unseen(Some("s")), unseen(Some("s")), true),
    ];
    for (number, (what, first, second, joins)) in cases.into_iter().enumerate() {
        let text = format!(r#"{{"text":"milk {number}"}}"#);
        let kept = harness.note_count().await;
        let came_in = harness.events.count(|event| matches!(event, Event::CallStarted { .. }));
        let first = harness.spawn_call_as(first, call("add_note", &text));
        let shown = harness.approval().await;
        let second = harness.spawn_call_as(second, call("add_note", &text));
        harness.wait_for_calls(came_in + 2).await;
        if joins {
            // The one answer is for both.
            harness.answer(&shown, deny_once(Some("not this"))).await.unwrap();
            for end in [first.result().await, second.result().await] {
                assert!(crate::harness::text(&end).contains("not this"), "{what}: {end}");
            }
            continue;
        }
        let both = harness.approvals(2).await;
        assert_eq!(both[0], shown, "{what}");
        assert_ne!(call_approval(&both[0]).hash, call_approval(&both[1]).hash, "{what}");
        harness.allow(&shown).await;
        assert!(!is_error(&first.result().await), "{what}");
        let left = harness.approval().await;
        assert_eq!(left.id, both[1].id, "{what}: the other approval request has ended");
        harness.answer(&left, deny_once(None)).await.unwrap();
        assert!(is_error(&second.result().await), "{what}: the other call ran");
        assert_eq!(harness.note_count().await, kept + 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_answer_keeps_requests_of_other_unseen_peers() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let unseen = || from_peer(Peer::unseen(), None);
    let left = harness.spawn_call_as(unseen(), call("add_note", MILK));
    harness.approval().await;
    left.cancel.cancel();
    left.result().await;
    let other = harness.spawn_call_as(unseen(), call("add_note", MILK));
    let both = harness.approvals(2).await;
    harness.allow(&both[0]).await;
    assert_eq!(harness.approval().await.id, both[1].id);
    harness.answer(&both[1], deny_once(None)).await.unwrap();
    assert!(is_error(&other.result().await));
    assert_eq!(harness.note_count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_unknown_process_share_a_run() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let node = |pid| from_peer(unknown_peer("/usr/bin/node", pid), None);
    let calls = [1, 1].map(|pid| harness.spawn_call_as(node(pid), call("add_note", MILK)));
    harness.wait_for_calls(2).await;
    harness.allow(&harness.approval().await).await;
    for call in calls {
        assert!(!is_error(&call.result().await));
    }
    harness.approvals(0).await;
    assert_eq!(harness.note_count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn ticket_is_bound_to_shown_program() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let call_of = |session| harness.spawn_call_as(session_caller("Claude", session), call("add_note", MILK));
    let first = call_of("a");
    let approval = harness.approval().await;
    first.cancel.cancel();
    first.result().await;
    harness.allow(&approval).await;
    let thief = harness.spawn_call_as(from_program("/tmp/thief"), call("add_note", MILK));
    let theirs = harness.approval().await;
    harness.answer(&theirs, deny_once(None)).await.unwrap();
    assert!(is_error(&thief.result().await));
    // The session may be another one: many clients begin a new one when they give up.
    assert!(!is_error(&call_of("b").result().await));
    assert_eq!(harness.note_count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn ticket_is_not_given_to_unseen_programs() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let unknown = |path: &str, pid| from_peer(unknown_peer(path, pid), None);
    let unseen = || from_peer(Peer::unseen(), None);
    let cases = [
        (unknown("/usr/bin/node", 1), unknown("/tmp/thief", 2), false),
        (unknown("/usr/bin/node", 1), unknown("/usr/bin/node", 2), false),
        (unknown("/usr/bin/node", 1), unseen(), false),
        (unseen(), unseen(), false),
        (unknown("/usr/bin/node", 1), unknown("/usr/bin/node", 1), true),
    ];
    for (number, (asks, takes, passes)) in cases.into_iter().enumerate() {
        // Another call each time: the tickets of the first are still there.
        let text = format!(r#"{{"text":"milk {number}"}}"#);
        let kept = harness.note_count().await;
        let first = harness.spawn_call_as(asks, call("add_note", &text));
        let approval = harness.approval().await;
        first.cancel.cancel();
        first.result().await;
        harness.allow(&approval).await;
        let second = harness.spawn_call_as(takes, call("add_note", &text));
        if !passes {
            let theirs = harness.approval().await;
            harness.answer(&theirs, deny_once(None)).await.unwrap();
        }
        assert_eq!(is_error(&second.result().await), !passes);
        assert_eq!(harness.note_count().await, kept + usize::from(passes));
    }
}

#[tokio::test(start_paused = true)]
async fn late_approval_applies_to_new_session() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call_as(session_caller("Claude", "a"), call("add_note", MILK));
    let shown = harness.approval().await;
    first.cancel.cancel();
    first.result().await;
    let second = harness.spawn_call_as(session_caller("Claude", "b"), call("add_note", MILK));
    harness.approvals(2).await;
    harness.allow(&shown).await;
    assert!(!is_error(&second.result().await));
    harness.approvals(0).await;
    assert_eq!(harness.note_count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn pause_before_dispatch_drops_ticket() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let running = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    let tools = harness.tools.clone();
    harness.events.on_event(move |event| {
        if matches!(event, Event::ApprovalResolved { .. }) {
            // Up to its first wait a pause does all that counts.
            drop(tools.pause().now_or_never());
        }
    });
    harness.allow(&approval).await;
    harness.events.on_event(|_| {});
    assert!(is_error(&running.result().await));
    harness.tools.pause().await.unwrap();
    harness.tools.resume().await.unwrap();
    assert!(!harness.is_allowed("add_note", MILK).await, "a ticket outlived the pause");
    assert_eq!(harness.note_count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn repeated_calls_do_not_change_shown_approval() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let first = harness.spawn_call("add_note", MILK);
    let shown = harness.approval().await;
    let more: Vec<SpawnedCall> = (0..50).map(|_| harness.spawn_call("add_note", MILK)).collect();
    harness.wait_for_calls(51).await;
    assert_eq!(harness.approval().await, shown);
    assert_eq!(harness.events.count(changed), 0);
    harness.answer(&shown, deny_once(None)).await.unwrap();
    for call in more.into_iter().chain([first]) {
        assert!(is_error(&call.result().await));
    }

    // Changes of whether a call waits are announced at most every three seconds.
    let first = harness.spawn_call("add_note", MILK);
    let approval = harness.approval().await;
    first.cancel.cancel();
    first.result().await;
    for _ in 0..50 {
        let again = harness.spawn_call("add_note", MILK);
        tokio::time::sleep(Duration::from_millis(20)).await;
        again.cancel.cancel();
        again.result().await;
    }
    let announced = harness.events.count(changed);
    assert!((1..=2).contains(&announced), "{announced}");
    seconds(3).await;
    let offer = harness.approval().await;
    assert!(offer.id == approval.id && !offer.waiting && call_approval(&offer).client_waits_until.is_none());
}

#[tokio::test(start_paused = true)]
async fn class_change_replaces_pending_approval() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let running = harness.spawn_call("list_notes", "{}");
    let shown = harness.approval().await;
    let read = gatehouse_model::grant::AccessClass::Read;
    harness.tools.permissions().classify(&"notes".into(), "list_notes", Some(read)).await.unwrap();
    harness
        .wait_until(|harness| harness.tools.approvals().pending().iter().any(|one| one.id != shown.id))
        .await;
    assert!(harness.answer(&shown, once()).await.is_err());
    let anew = harness.approval().await;
    assert_eq!(call_approval(&anew).class.class, read);
    harness.allow(&anew).await;
    assert!(!is_error(&running.result().await));
    harness.store.activity().flush();
    let record = harness.store.activity().list(&Default::default()).unwrap().remove(0);
    assert_eq!(record.verdict.rule, Rule::Answered { ask: anew.id });
}
