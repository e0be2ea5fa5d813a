//! Clients that work with an old tool list are marked (GATE-7).

use std::time::Duration;

use gatehouse_model::Event;

use crate::fixture::{Fixture, SseReader, text};

/// Longer than a client may take to list its tools again.
const LATE: Duration = Duration::from_secs(11);

/// Lets this much time pass.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn is_marked(fixture: &Fixture) -> bool {
    fixture.registry.list()[0].has_stale_list
}

/// The changes of the mark that were announced.
fn announced(fixture: &Fixture) -> Vec<bool> {
    let events = fixture.recorded_events.0.lock();
    let marks = events.iter().filter_map(|event| match event {
        Event::ClientToolList { client, is_stale } if *client == fixture.entry.id => Some(*is_stale),
        _ => None,
    });
    marks.collect()
}

#[tokio::test]
async fn session_that_ignores_list_changes_marks_its_client() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let list = async || {
        text(fixture.session_request(&session, "1", "tools/list", "{}").send().await.unwrap()).await;
    };
    let call = async |session: &str| {
        text(fixture.session_call(session, "2", "echo", "{}").send().await.unwrap()).await;
    };
    let mut stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    list().await;
    call(&session).await;
    fixture.script.set_tools(&[r#"{"name":"new","inputSchema":{}}"#]);
    assert!(stream.next().await.unwrap().data.contains("list_changed"));
    call(&session).await;
    assert!(!is_marked(&fixture), "it may still be about to list again");
    pass(LATE).await;
    assert!(!is_marked(&fixture), "it may never call again");
    let other = fixture.session("2025-11-25").await;
    call(&other).await;
    assert!(!is_marked(&fixture), "another session, which has no list");
    call(&session).await;
    call(&session).await;
    assert!(is_marked(&fixture));
    list().await;
    assert!(!is_marked(&fixture));
    call(&session).await;
    assert_eq!(announced(&fixture), [true, false]);
    // The mark ends with the session too.
    fixture.script.set_tools(&[]);
    assert!(stream.next().await.unwrap().data.contains("list_changed"));
    pass(LATE).await;
    call(&session).await;
    assert!(is_marked(&fixture));
    let delete = fixture.http.delete(fixture.url()).bearer_auth(&fixture.token);
    assert_eq!(delete.header("mcp-session-id", &session).send().await.unwrap().status(), 204);
    assert!(!is_marked(&fixture));
}

#[tokio::test]
async fn session_without_stream_is_not_marked() {
    let fixture = Fixture::start().await;
    let (session, told) = (fixture.session("2025-11-25").await, fixture.session("2025-11-25").await);
    let mut stream = SseReader::new(fixture.stream(&told).send().await.unwrap());
    text(fixture.session_request(&session, "1", "tools/list", "{}").send().await.unwrap()).await;
    fixture.script.set_tools(&[]);
    assert!(stream.next().await.unwrap().data.contains("list_changed"));
    pass(LATE).await;
    text(fixture.session_call(&session, "2", "echo", "{}").send().await.unwrap()).await;
    assert!(!is_marked(&fixture), "it was told nothing");
}

#[tokio::test]
async fn stateless_client_that_subscribed_is_marked() {
    let fixture = Fixture::start().await;
    let list = async || {
        text(fixture.stateless_request("1", "tools/list", "{}").send().await.unwrap()).await;
    };
    let call = async || {
        text(fixture.stateless_call("2", "echo", "{}").send().await.unwrap()).await;
    };
    list().await;
    let params = r#"{"notifications":{"toolsListChanged":true}}"#;
    let listen = fixture.stateless_request(r#""sub""#, "subscriptions/listen", params);
    let mut stream = SseReader::new(listen.send().await.unwrap());
    assert!(stream.next().await.unwrap().data.contains("acknowledged"));
    fixture.script.set_tools(&[]);
    assert!(stream.next().await.unwrap().data.contains("list_changed"));
    call().await;
    pass(LATE).await;
    call().await;
    assert!(is_marked(&fixture));
    list().await;
    assert!(!is_marked(&fixture));
    assert_eq!(announced(&fixture), [true, false]);
}
