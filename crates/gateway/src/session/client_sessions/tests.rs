//! When sessions end, and what is kept for them.

use gatehouse_tools::{ByteBudget, ByteLimits};
use tokio::time::advance;

use super::*;
use crate::session::event_log::EventLog;
use crate::session::sessions::tests::{client, identity, init};

fn open(sessions: &ClientSessions, id: &str, client: &Arc<ClientState>) -> Arc<Session> {
    sessions.open(identity(id), client, init()).session
}

fn ids(ended: &[Arc<Session>]) -> Vec<&str> {
    ended.iter().map(|session| session.id.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn ends_sessions_idle_for_a_day() {
    let (sessions, client) = (ClientSessions::default(), client("cli-1"));
    let listening = open(&sessions, "listening", &client);
    let reader = listening.open_notification_stream().read();
    let calling = open(&sessions, "calling", &client);
    let registration = calling.register_call("1").unwrap();
    open(&sessions, "used", &client);
    open(&sessions, "idle", &client);
    advance(IDLE_TIMEOUT / 2).await;
    assert!(sessions.find("used", &Viewer::of(&client.entry.id), &ServerSelection::All).is_some());
    advance(IDLE_TIMEOUT / 2).await;
    assert_eq!(ids(&sessions.end_idle()), ["idle"]);
    // Both stop being busy. The idle time starts over when the last call ends.
    drop(reader);
    drop(registration);
    let mut ended = sessions.end_idle();
    ended.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(ids(&ended), ["listening"]);
    advance(IDLE_TIMEOUT).await;
    assert_eq!(sessions.end_idle().len(), 2);
    assert!(sessions.find("calling", &Viewer::of(&client.entry.id), &ServerSelection::All).is_none());
}

#[tokio::test(start_paused = true)]
async fn hides_sessions_of_disconnected_client() {
    let (sessions, client) = (ClientSessions::default(), client("cli-1"));
    open(&sessions, "previous", &client);
    client.disconnected.cancel();
    open(&sessions, "after", &client);
    assert!(sessions.find("previous", &Viewer::of(&client.entry.id), &ServerSelection::All).is_none());
    assert!(sessions.find("after", &Viewer::of(&client.entry.id), &ServerSelection::All).is_none());
    assert_eq!(sessions.end_idle().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn bounds_unread_streams_over_all_sessions_of_a_client() {
    let sessions = ClientSessions::default();
    let (busy, other) = (client("cli-1"), client("cli-2"));
    let budget = ByteBudget::new(ByteLimits { client: 1000, all: 10_000 });
    // Adds a finished stream of this size, whose reader has gone.
    let add_unread = |session: &Session, bytes: usize| {
        let number = session.next_stream();
        let log = EventLog::numbered(number, &budget, &session.client.entry.id);
        session.store_stream(number, &log);
        let reader = log.read();
        log.finish(std::iter::once("x".repeat(bytes).as_bytes()));
        drop(reader);
        number
    };
    let is_stored = |session: &Session, number| session.stream(number).is_some_and(|log| !log.is_discarded());
    let other_session = open(&sessions, "other", &other);
    let number = add_unread(&other_session, 300);
    let busy_sessions: Vec<(Arc<Session>, u64)> = (0..20)
        .map(|n| {
            let session = open(&sessions, &format!("busy {n}"), &busy);
            let number = add_unread(&session, 300);
            (session, number)
        })
        .collect();
    let stored: Vec<bool> =
        busy_sessions.iter().map(|(session, number)| is_stored(session, *number)).collect();
    assert_eq!(stored, [vec![false; 17], vec![true; 3]].concat(), "the newest that fit");
    assert!(is_stored(&other_session, number));
    // Ending a session releases its budget, even while other references to it exist.
    for (session, _) in &busy_sessions {
        assert!(sessions.end(&session.header).is_some());
    }
    assert_eq!(budget.bytes(), other_session.stream(number).unwrap().bytes());
    add_unread(&busy_sessions[0].0, 300);
    assert_eq!(sessions.end_all().len(), 1);
    assert_eq!(budget.bytes(), 0);
}
