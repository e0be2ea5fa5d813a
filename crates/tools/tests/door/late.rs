//! Answers that come when nobody is there any more, and results that nobody received (PERM-11, TOOL-9):
//! one yes acts once, and only for the client and program that it was given to.

use std::sync::Weak;
use std::time::Duration;

use futures::FutureExt;
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{Event, Rule};
use gatehouse_tools::{ByteLimits, Caller, Evict, KeptKind, Listening, Peer, PeerId, Reservation, ToolCall};
use serde_json::Value;
use tokio::sync::watch;

use crate::house::*;

const MILK: &str = r#"{"text":"milk"}"#;
const MARK: &str = "gatehouse/earlierResult";

fn listened(is_there: &watch::Sender<bool>, arguments: &str) -> ToolCall {
    ToolCall { listening: Some(Listening::new(is_there.subscribe())), ..call("add_note", arguments) }
}

fn from_program(path: &str) -> Caller {
    Caller { peer: peer(path), ..caller("Claude") }
}

fn from_peer(peer: Peer, session: Option<&str>) -> Caller {
    match session {
        Some(session) => Caller { peer, ..in_session("Claude", session) },
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
async fn allowed_after(house: &House, wait: u64) -> Value {
    let running = house.begin("add_note", MILK);
    let question = house.question().await;
    seconds(wait).await;
    house.allow(&question).await;
    running.ended().await
}

fn last_outcome(house: &House) -> CallOutcome {
    house.store.activity().flush();
    house.store.activity().list(&Default::default()).unwrap().remove(0).outcome
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_a_client_that_does_not_listen_runs_nothing_and_is_a_ticket() {
    let house = House::new().await;
    house.notes().await;
    let is_there = watch::Sender::new(true);
    let left = house.begin_as(in_session("Claude", "s"), listened(&is_there, MILK));
    let question = house.question().await;
    seconds(12).await;
    is_there.send_replace(false);
    house.until(|house| !house.tools.approvals().pending()[0].waiting).await;
    house.allow(&question).await;
    let end = left.ended().await;
    assert!(is_error(&end) && text(&end).contains("same arguments"), "{end}");
    assert_eq!(house.notes_kept().await, 0);

    let again = house.begin_as(in_session("Claude", "s"), call("add_note", MILK)).ended().await;
    assert!(!is_error(&again) && again["_meta"].is_null(), "{again}");
    assert_eq!(house.notes_kept().await, 1);
    assert!(!house.passes("add_note", MILK).await, "one use");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_back_before_the_answer_gets_it() {
    let house = House::new().await;
    house.notes().await;
    let is_there = watch::Sender::new(true);
    let running = house.begin_as(in_session("Claude", "s"), listened(&is_there, MILK));
    let question = house.question().await;
    for there in [false, true] {
        is_there.send_replace(there);
        house.until(|house| house.tools.approvals().pending()[0].waiting == there).await;
    }
    house.allow(&question).await;
    assert!(!is_error(&running.ended().await));

    // Back after the answer, the ticket is its own.
    let tea = r#"{"text":"tea"}"#;
    let running = house.begin_as(in_session("Claude", "s"), listened(&is_there, tea));
    let question = house.question().await;
    is_there.send_replace(false);
    house.until(|house| !house.tools.approvals().pending()[0].waiting).await;
    house.allow(&question).await;
    assert_eq!(house.notes_kept().await, 1);
    is_there.send_replace(true);
    assert!(!is_error(&running.ended().await));
    assert_eq!(house.notes_kept().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_perhaps_nobody_received_is_for_the_next_identical_call_once() {
    let house = House::new().await;
    house.notes().await;
    let first = allowed_after(&house, 5).await;
    assert!(first["_meta"].is_null(), "{first}");
    seconds(60).await;
    let second = house.call("add_note", MILK).await;
    assert_eq!(second["content"][0], first["content"][0]);
    assert_eq!(second["structuredContent"], first["structuredContent"]);
    assert!(second["_meta"][MARK]["secondsAgo"].as_u64().unwrap() >= 60, "{second}");
    assert!(second["content"][1]["text"].as_str().unwrap().contains("not run again"), "{second}");
    assert!(matches!(last_outcome(&house), CallOutcome::Repeated { .. }));
    assert_eq!(house.notes_kept().await, 1);
    assert!(!house.passes("add_note", MILK).await, "good once");
}

#[tokio::test(start_paused = true)]
async fn a_result_goes_to_nobody_else_and_not_past_a_pause() {
    let house = House::new().await;
    house.notes().await;
    let asks = async |caller: Caller, text: &str| {
        let running = house.begin_as(caller, call("add_note", text));
        let question = house.question().await;
        house.answer(&question, no(None)).await.unwrap();
        assert!(is_error(&running.ended().await));
    };
    allowed_after(&house, 2).await;
    asks(caller("Claude"), MILK).await;
    allowed_after(&house, 5).await;
    asks(caller("Cursor"), MILK).await;
    asks(from_program("/usr/bin/other"), MILK).await;
    asks(caller("Claude"), r#"{"text":"milk "}"#).await;
    house.tools.pause().await.unwrap();
    house.tools.resume().await.unwrap();
    asks(caller("Claude"), MILK).await;
    allowed_after(&house, 5).await;
    seconds(601).await;
    asks(caller("Claude"), MILK).await;
    allowed_after(&house, 5).await;
    let generation = house.servers.get(&"notes".into()).unwrap().config().generation;
    let next = gatehouse_model::Generation(generation.0 + 1);
    let edited = gatehouse_model::ServerConfig {
        generation: next,
        ..builtin("notes", gatehouse_model::server::Builtin::Notes)
    };
    house.serve(edited).await;
    house
        .until(|house| {
            house.tools.catalogue().of_server(&"notes".into()).any(|tool| tool.generation() == next)
        })
        .await;
    asks(caller("Claude"), MILK).await;
    // A program that is not known is never the same as another one.
    let unknown = || from_peer(Peer::unseen(), None);
    let running = house.begin_as(unknown(), call("add_note", MILK));
    let question = house.question().await;
    seconds(5).await;
    house.allow(&question).await;
    running.ended().await;
    asks(unknown(), MILK).await;
}

/// Something else that is kept for a client.
struct Other;

impl Evict for Other {
    fn evict(&self) {}
}

/// Keeps as much for a client as it may have.
fn fill(house: &House, client: &str) -> Reservation {
    let size = (KeptKind::Finished, ByteLimits::default().client);
    let (reservation, surplus) = house.tools.kept_bytes().reserve(&client.into(), size, Weak::<Other>::new());
    surplus.evict();
    reservation
}

#[tokio::test(start_paused = true)]
async fn a_result_makes_room_for_what_is_kept_later_for_its_client() {
    let house = House::new().await;
    house.notes().await;
    for (client, is_kept) in [("Cursor", true), ("Claude", false)] {
        let first = allowed_after(&house, 5).await;
        let full = fill(&house, client);
        if is_kept {
            let second = house.call("add_note", MILK).await;
            assert_eq!(second["content"][0], first["content"][0], "{client}");
        } else {
            assert!(!house.passes("add_note", MILK).await, "{client}");
        }
        drop(full);
        assert_eq!(house.tools.kept_bytes().bytes(), 0, "{client}");
    }
    // What only a session could come for goes with it.
    let running = house.begin_as(from_peer(Peer::unseen(), Some("s")), call("add_note", MILK));
    let question = house.question().await;
    seconds(5).await;
    house.allow(&question).await;
    assert!(!is_error(&running.ended().await));
    assert!(house.tools.kept_bytes().bytes() > 0);
    house.tools.session_ended(&"s".into());
    assert_eq!(house.tools.kept_bytes().bytes(), 0);
    // A pause drops what is kept, and gives its bytes back.
    allowed_after(&house, 5).await;
    assert!(house.tools.kept_bytes().bytes() > 0);
    house.tools.pause().await.unwrap();
    assert_eq!(house.tools.kept_bytes().bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_program_or_session_is_another_question() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin_as(in_session("Claude", "a"), call("add_note", MILK));
    let shown = house.question().await;
    let thief = Caller { peer: peer("/tmp/thief"), ..in_session("Claude", "a") };
    let others = [
        house.begin_as(thief, call("add_note", MILK)),
        house.begin_as(in_session("Claude", "b"), call("add_note", MILK)),
    ];
    let all = house.questions(3).await;
    assert_eq!(all[0], shown, "what was shown stays as it was");
    assert!(all[1..].iter().all(|other| about(other).hash != about(&shown).hash));
    house.allow(&shown).await;
    assert!(!is_error(&first.ended().await));
    for question in house.questions(2).await {
        house.answer(&question, no(None)).await.unwrap();
    }
    for other in others {
        assert!(is_error(&other.ended().await));
    }
    assert_eq!(house.notes_kept().await, 1);
}

/// One interpreter runs many programs, and what it was started with tells none of them apart.
#[tokio::test(start_paused = true)]
async fn an_unknown_program_joins_no_question_of_another() {
    let house = House::new().await;
    house.notes().await;
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
        let kept = house.notes_kept().await;
        let came_in = house.events.count(|event| matches!(event, Event::CallStarted { .. }));
        let first = house.begin_as(first, call("add_note", &text));
        let shown = house.question().await;
        let second = house.begin_as(second, call("add_note", &text));
        house.came_in(came_in + 2).await;
        if joins {
            // The one answer is for both.
            house.answer(&shown, no(Some("not this"))).await.unwrap();
            for end in [first.ended().await, second.ended().await] {
                assert!(crate::house::text(&end).contains("not this"), "{what}: {end}");
            }
            continue;
        }
        let both = house.questions(2).await;
        assert_eq!(both[0], shown, "{what}");
        assert_ne!(about(&both[0]).hash, about(&both[1]).hash, "{what}");
        house.allow(&shown).await;
        assert!(!is_error(&first.ended().await), "{what}");
        let left = house.question().await;
        assert_eq!(left.id, both[1].id, "{what}: the other question is gone");
        house.answer(&left, no(None)).await.unwrap();
        assert!(is_error(&second.ended().await), "{what}: the other call ran");
        assert_eq!(house.notes_kept().await, kept + 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_leaves_the_questions_of_others_that_are_not_seen() {
    let house = House::new().await;
    house.notes().await;
    let unseen = || from_peer(Peer::unseen(), None);
    let left = house.begin_as(unseen(), call("add_note", MILK));
    house.question().await;
    left.cancel.cancel();
    left.ended().await;
    let other = house.begin_as(unseen(), call("add_note", MILK));
    let both = house.questions(2).await;
    house.allow(&both[0]).await;
    assert_eq!(house.question().await.id, both[1].id);
    house.answer(&both[1], no(None)).await.unwrap();
    assert!(is_error(&other.ended().await));
    assert_eq!(house.notes_kept().await, 0);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_unknown_process_share_a_run() {
    let house = House::new().await;
    house.notes().await;
    let node = |pid| from_peer(unknown_peer("/usr/bin/node", pid), None);
    let calls = [1, 1].map(|pid| house.begin_as(node(pid), call("add_note", MILK)));
    house.came_in(2).await;
    house.allow(&house.question().await).await;
    for call in calls {
        assert!(!is_error(&call.ended().await));
    }
    house.questions(0).await;
    assert_eq!(house.notes_kept().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_for_the_program_that_was_shown() {
    let house = House::new().await;
    house.notes().await;
    let call_of = |session| house.begin_as(in_session("Claude", session), call("add_note", MILK));
    let first = call_of("a");
    let question = house.question().await;
    first.cancel.cancel();
    first.ended().await;
    house.allow(&question).await;
    let thief = house.begin_as(from_program("/tmp/thief"), call("add_note", MILK));
    let theirs = house.question().await;
    house.answer(&theirs, no(None)).await.unwrap();
    assert!(is_error(&thief.ended().await));
    // The session may be another one: many clients begin a new one when they give up.
    assert!(!is_error(&call_of("b").ended().await));
    assert_eq!(house.notes_kept().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_never_for_a_program_that_was_not_seen_to_ask() {
    let house = House::new().await;
    house.notes().await;
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
        let kept = house.notes_kept().await;
        let first = house.begin_as(asks, call("add_note", &text));
        let question = house.question().await;
        first.cancel.cancel();
        first.ended().await;
        house.allow(&question).await;
        let second = house.begin_as(takes, call("add_note", &text));
        if !passes {
            let theirs = house.question().await;
            house.answer(&theirs, no(None)).await.unwrap();
        }
        assert_eq!(is_error(&second.ended().await), !passes);
        assert_eq!(house.notes_kept().await, kept + usize::from(passes));
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_yes_lets_the_same_call_of_a_new_session_run() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin_as(in_session("Claude", "a"), call("add_note", MILK));
    let shown = house.question().await;
    first.cancel.cancel();
    first.ended().await;
    let second = house.begin_as(in_session("Claude", "b"), call("add_note", MILK));
    house.questions(2).await;
    house.allow(&shown).await;
    assert!(!is_error(&second.ended().await));
    house.questions(0).await;
    assert_eq!(house.notes_kept().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_between_answer_and_dispatch_leaves_no_ticket() {
    let house = House::new().await;
    house.notes().await;
    let running = house.begin("add_note", MILK);
    let question = house.question().await;
    let tools = house.tools.clone();
    house.events.upon(move |event| {
        if matches!(event, Event::ApprovalResolved { .. }) {
            // Up to its first wait a pause does all that counts.
            drop(tools.pause().now_or_never());
        }
    });
    house.allow(&question).await;
    house.events.upon(|_| {});
    assert!(is_error(&running.ended().await));
    house.tools.pause().await.unwrap();
    house.tools.resume().await.unwrap();
    assert!(!house.passes("add_note", MILK).await, "a ticket outlived the pause");
    assert_eq!(house.notes_kept().await, 0);
}

#[tokio::test(start_paused = true)]
async fn the_same_call_again_and_again_changes_nothing_that_is_shown() {
    let house = House::new().await;
    house.notes().await;
    let first = house.begin("add_note", MILK);
    let shown = house.question().await;
    let more: Vec<Running> = (0..50).map(|_| house.begin("add_note", MILK)).collect();
    house.came_in(51).await;
    assert_eq!(house.question().await, shown);
    assert_eq!(house.events.count(changed), 0);
    house.answer(&shown, no(None)).await.unwrap();
    for call in more.into_iter().chain([first]) {
        assert!(is_error(&call.ended().await));
    }

    // Coming and going is told at most every three seconds.
    let first = house.begin("add_note", MILK);
    let question = house.question().await;
    first.cancel.cancel();
    first.ended().await;
    for _ in 0..50 {
        let again = house.begin("add_note", MILK);
        tokio::time::sleep(Duration::from_millis(20)).await;
        again.cancel.cancel();
        again.ended().await;
    }
    assert!(house.events.count(changed) <= 2, "{}", house.events.count(changed));
    seconds(3).await;
    let offer = house.question().await;
    assert!(offer.id == question.id && !offer.waiting && about(&offer).client_waits_until.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_question_is_put_anew_when_the_class_of_its_tool_changes() {
    let house = House::new().await;
    house.notes().await;
    let running = house.begin("list_notes", "{}");
    let shown = house.question().await;
    let read = gatehouse_model::grant::AccessClass::Read;
    house.tools.rights().classify(&"notes".into(), "list_notes", Some(read)).await.unwrap();
    house.until(|house| house.tools.approvals().pending().iter().any(|one| one.id != shown.id)).await;
    assert!(house.answer(&shown, once()).await.is_err());
    let anew = house.question().await;
    assert_eq!(about(&anew).class.class, read);
    house.allow(&anew).await;
    assert!(!is_error(&running.ended().await));
    house.store.activity().flush();
    let record = house.store.activity().list(&Default::default()).unwrap().remove(0);
    assert_eq!(record.verdict.rule, Rule::Answered { ask: anew.id });
}
