//! Sessions across a restart of Gatehouse: what is resumed, what isn't, and what clients try to get in with.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{Event, Secret};
use gatehouse_store::{SecretError, SecretKey, SecretStore, SecretStoreKind, memory};
use gatehouse_tools::{AccessKind, NotificationKind, ProtocolFamily};

use crate::fixture::{Fixture, SseReader, inner_id, text};

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The status and the body of the response to a ping in this session.
async fn ping(fixture: &Fixture, session: &str) -> (u16, String) {
    let response = fixture.session_request(session, "1", "ping", "{}").send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The response to a session that never existed.
async fn unknown(fixture: &Fixture) -> (u16, String) {
    let unknown = ping(fixture, "ses-00000000000000000000000000000000").await;
    assert_eq!(unknown.0, 404);
    unknown
}

async fn delete(fixture: &Fixture, session: &str) -> u16 {
    let request = fixture.http.delete(fixture.url()).bearer_auth(&fixture.token);
    request.header("mcp-session-id", session).send().await.unwrap().status().as_u16()
}

/// Opens a session as a client with form elicitation.
async fn open(fixture: &Fixture, version: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"Ünïcode “agent”","version":"1"}}}}}}"#
    );
    let response = fixture.post(body).send().await.unwrap();
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

async fn stream_after(fixture: &Fixture, session: &str, last_event_id: &str) -> SseReader {
    let request = fixture.stream(session).header("last-event-id", last_event_id);
    SseReader::new(request.send().await.unwrap())
}

/// All events of a call that becomes a stream.
async fn streamed_call(fixture: &Fixture, session: &str) -> Vec<(String, String)> {
    fixture.script.release.add_permits(1);
    let response = fixture.session_call(session, "7", "steps", "{}").send().await.unwrap();
    let events = SseReader::new(response).all().await;
    events.into_iter().map(|event| (event.id.unwrap(), event.data)).collect()
}

#[tokio::test]
async fn client_goes_on_after_restart_as_initialized() {
    let mut fixture = Fixture::start().await;
    let (newer, older) = (open(&fixture, "2025-11-25").await, open(&fixture, "2025-06-18").await);
    // Twice, since a resumed session has to be resumable.
    for _ in 0..2 {
        fixture = fixture.restart().await;
        assert_eq!(fixture.registry.list()[0].sessions, 0);
        let list = text(fixture.session_request(&newer, "1", "tools/list", "{}").send().await.unwrap()).await;
        assert!(list.contains(r#""name":"echo""#), "{list}");
        let response = fixture.session_call(&newer, "2", "echo", r#"{"a":1.0}"#).send().await.unwrap();
        assert_eq!(
            text(response).await,
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"echo":{"a":1.0}}}"#
        );
        let recorded = fixture.script.recorded_calls.lock()[0].clone();
        assert_eq!(recorded.protocol_family, ProtocolFamily::Stateful);
        assert_eq!(recorded.client_info.as_deref(), Some("Ünïcode “agent” 1"));
        assert!(recorded.can_answer_forms);
        assert_eq!(fixture.registry.list()[0].says.as_deref(), Some("Ünïcode “agent” 1"));
        assert_eq!(fixture.registry.list()[0].sessions, 1);
        let connected = fixture.recorded_events.0.lock().clone();
        assert!(matches!(&connected[..], [Event::ClientConnected { .. }]), "{connected:?}");
        // What was limited to the session ended when Gatehouse quit.
        assert_ne!(recorded.session, Some(inner_id(&newer)));
        // The revision is that of `initialize`: only the newer one begins a stream with an empty event.
        for (session, has_empty_event) in [(&newer, true), (&older, false)] {
            let call = fixture.session_call(session, "3", "wait", "{}").send().await.unwrap();
            fixture.script.release.add_permits(1);
            let events = SseReader::new(call).all().await;
            assert_eq!(events[0].data.is_empty(), has_empty_event);
        }
    }
}

#[tokio::test]
async fn streams_open_again_after_restart() {
    let fixture = Fixture::start().await;
    let session = open(&fixture, "2025-11-25").await;
    let before = streamed_call(&fixture, &session).await;
    let last_event_id = &before[3].0;
    let fixture = fixture.restart().await;
    // Neither replayed nor an error: what it reads are the notifications from now on. Lists may have changed.
    let mut first = stream_after(&fixture, &session, last_event_id).await;
    for kind in ["tools", "resources", "prompts"] {
        let expected = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{kind}/list_changed"}}"#);
        assert_eq!(first.next().await.unwrap().data, expected);
    }
    fixture.session_request(&session, "1", "tools/list", "{}").send().await.unwrap();
    // A second lost stream doesn't take the notifications from the first.
    let mut second = stream_after(&fixture, &session, last_event_id).await;
    fixture.script.set_tools(&[]);
    assert_eq!(first.next().await.unwrap().data, CHANGED);
    // No id of an event is used again, and those of this run can be resumed after.
    let after = streamed_call(&fixture, &session).await;
    assert!(after.iter().all(|(id, _)| before.iter().all(|(other, _)| id != other)), "{after:?}");
    let resumed = stream_after(&fixture, &session, &after[38].0).await.all().await;
    assert_eq!(resumed.last().unwrap().data, after.last().unwrap().1);
    for garbage in ["x", "1", "-", "zz-1"] {
        let refused = fixture.stream(&session).header("last-event-id", garbage).send().await.unwrap();
        assert_eq!(refused.status(), 400, "{garbage}");
    }
    assert_eq!(delete(&fixture, &session).await, 204);
    assert_eq!(first.next().await, None);
    assert_eq!(second.next().await, None);
}

#[tokio::test]
async fn log_level_and_subscriptions_survive_restart() {
    let fixture = Fixture::start().await;
    let session = open(&fixture, "2025-11-25").await;
    for (method, params) in [
        ("logging/setLevel", r#"{"level":"notice"}"#),
        ("resources/subscribe", r#"{"uri":"x://a"}"#),
        ("resources/subscribe", r#"{"uri":"x://b"}"#),
        ("resources/subscribe", r#"{"uri":"x://c"}"#),
        ("resources/unsubscribe", r#"{"uri":"x://b"}"#),
    ] {
        let response = fixture.session_request(&session, "1", method, params).send().await.unwrap();
        assert_eq!(response.status(), 200, "{method}");
    }
    let mut fixture = fixture.restart().await;
    for _ in 0..2 {
        // As long as no server has the resources, nothing is subscribed to.
        fixture.script.hides_resources.store(true, Ordering::SeqCst);
        let mut stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
        assert_eq!(*fixture.script.log_level.lock(), Some(LogLevel::Notice));
        let unsubscribe = r#"{"uri":"x://c"}"#;
        fixture.session_request(&session, "2", "resources/unsubscribe", unsubscribe).send().await.unwrap();
        assert!(fixture.script.recorded_accesses.lock().is_empty());
        fixture.script.hides_resources.store(false, Ordering::SeqCst);
        fixture.script.versions.send_modify(|versions| versions.all.resources += 1);
        // The resource may have changed meanwhile.
        let updated =
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://a"}}"#;
        while stream.next().await.unwrap().data != updated {}
        let accesses = fixture.script.recorded_accesses.lock().clone();
        let subscribed: Vec<(AccessKind, &str)> =
            accesses.iter().map(|access| (access.kind, access.target.as_str())).collect();
        assert_eq!(subscribed, [(AccessKind::Subscribe, "a")]);
        fixture.script.notify(NotificationKind::ResourceUpdated { uri: "a".into() }, r#"{"uri":"a"}"#);
        while stream.next().await.unwrap().data != updated {}
        fixture = fixture.restart().await;
    }
}

#[tokio::test]
async fn deleted_sessions_stay_deleted() {
    let fixture = Fixture::start().await;
    let (before, unused) = (open(&fixture, "2025-11-25").await, open(&fixture, "2025-11-25").await);
    fixture.session_request(&before, "1", "logging/setLevel", r#"{"level":"debug"}"#).send().await.unwrap();
    assert_eq!(delete(&fixture, &before).await, 204);
    assert_eq!(ping(&fixture, &before).await, unknown(&fixture).await);
    let fixture = fixture.restart().await;
    assert_eq!(ping(&fixture, &before).await, unknown(&fixture).await);
    assert_eq!(delete(&fixture, &before).await, 404);
    // Deleted by the first request after the restart.
    assert_eq!(delete(&fixture, &unused).await, 204);
    assert_eq!(ping(&fixture, &unused).await, unknown(&fixture).await);
    assert_eq!(delete(&fixture, &unused).await, 404);
    let fixture = fixture.restart().await;
    assert_eq!(ping(&fixture, &unused).await, unknown(&fixture).await);
    assert!(fixture.recorded_events.0.lock().is_empty());
}

/// A request that names the session is on its way while another one deletes it, each before the session is open again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deleted_session_is_not_resumed_by_a_request_on_its_way() {
    let mut fixture = Fixture::start().await;
    for round in 0..10 {
        let session = open(&fixture, "2025-11-25").await;
        fixture = fixture.restart().await;
        let before = futures::future::join_all((0..8).map(|_| ping(&fixture, &session)));
        let after = futures::future::join_all((0..8).map(|_| fixture.stream(&session).send()));
        let (pings, deleted, streams) = futures::join!(before, delete(&fixture, &session), after);
        assert_eq!(deleted, 204, "round {round}");
        for (status, body) in pings {
            assert!(status == 200 || status == 404, "round {round}: {body}");
        }
        assert_eq!(ping(&fixture, &session).await, unknown(&fixture).await, "round {round}");
        // Streams that were opened in time have ended with it.
        for stream in streams {
            let stream = stream.unwrap();
            if stream.status() == 200 {
                SseReader::new(stream).all().await;
            }
        }
        assert_eq!(fixture.registry.list()[0].sessions, 0, "round {round}");
    }
}

/// Ids that nobody gave this client. The response is always that to an unknown session, byte for byte.
#[tokio::test]
async fn foreign_and_edited_ids_are_unknown() {
    let elsewhere = Fixture::start().await;
    let of_elsewhere = open(&elsewhere, "2025-11-25").await;
    let fixture = Fixture::start().await;
    let own = open(&fixture, "2025-11-25").await;
    let mut fixture = fixture.restart().await;
    let mut ids =
        vec![of_elsewhere, own.repeat(10_240 / own.len() + 1), format!("{own}A"), own.replace('.', "")];
    for cut in [1, 10, 43, 44, own.len() - 36, own.len() - 1] {
        ids.push(own[..own.len() - cut].to_owned());
    }
    for at in 0..own.len() {
        let replacement = if own.as_bytes()[at] == b'A' { "B" } else { "A" };
        ids.push(format!("{}{replacement}{}", &own[..at], &own[at + 1..]));
    }
    let expected = unknown(&fixture).await;
    for id in &ids {
        assert_eq!(ping(&fixture, id).await, expected, "{id}");
    }
    // Another client's token.
    let (_, token) = fixture.registry.add("Other").await.unwrap();
    let own_token = std::mem::replace(&mut fixture.token, token.reveal().to_owned());
    assert_eq!(ping(&fixture, &own).await, expected);
    let refused = fixture.stream(&own).send().await.unwrap();
    assert_eq!(refused.status(), 404);
    assert_eq!(delete(&fixture, &own).await, 404);
    // Nothing was opened or ended by that.
    assert!(fixture.recorded_events.0.lock().is_empty());
    fixture.token = own_token;
    assert_eq!(ping(&fixture, &own).await.0, 200);
}

#[tokio::test]
async fn new_token_and_revocation_end_sessions_for_good() {
    let fixture = Fixture::start().await;
    let session = open(&fixture, "2025-11-25").await;
    let mut fixture = fixture.restart().await;
    let (entry, rotated) = fixture.registry.rotate("Agent").await.unwrap();
    fixture.entry = entry;
    fixture.token = rotated.reveal().to_owned();
    assert_eq!(ping(&fixture, &session).await, unknown(&fixture).await);
    let session = open(&fixture, "2025-11-25").await;
    let mut fixture = fixture.restart().await;
    fixture.registry.revoke("Agent").await.unwrap();
    assert_eq!(ping(&fixture, &session).await.0, 401);
    // Another client of the same name.
    let (entry, token) = fixture.registry.add("Agent").await.unwrap();
    fixture.entry = entry;
    fixture.token = token.reveal().to_owned();
    assert_eq!(ping(&fixture, &session).await, unknown(&fixture).await);
    let fixture = fixture.restart().await;
    assert_eq!(ping(&fixture, &session).await, unknown(&fixture).await);
}

#[tokio::test]
async fn resumed_sessions_count_towards_the_limit() {
    let fixture = Fixture::start().await;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(open(&fixture, "2025-11-25").await);
    }
    let fixture = fixture.restart().await;
    for session in &sessions {
        assert_eq!(ping(&fixture, session).await.0, 200);
    }
    assert!(fixture.script.ended_sessions.lock().is_empty());
    open(&fixture, "2025-11-25").await;
    assert_eq!(fixture.script.ended_sessions.lock().len(), 1);
    // The session that made room comes back as a new one in place of another.
    assert_eq!(ping(&fixture, &sessions[0]).await.0, 200);
    assert_eq!(fixture.script.ended_sessions.lock().len(), 2);
    assert_eq!(fixture.registry.list()[0].sessions, 64);
}

#[tokio::test]
async fn concurrent_requests_resume_one_session() {
    let fixture = Fixture::start().await;
    let session = open(&fixture, "2025-11-25").await;
    let fixture = fixture.restart().await;
    let requests = (0..20).map(|_| ping(&fixture, &session));
    for (status, body) in futures::future::join_all(requests).await {
        assert_eq!(status, 200, "{body}");
    }
    assert_eq!(fixture.registry.list()[0].sessions, 1);
    assert_eq!(fixture.recorded_events.0.lock().len(), 1);
}

/// A secret store that is locked for the key of the sessions.
struct NoSessionKey(Arc<dyn SecretStore>);

impl NoSessionKey {
    fn check(key: &SecretKey) -> Result<(), SecretError> {
        if key.account().contains("sessions") { Err(SecretError::Locked) } else { Ok(()) }
    }
}

impl SecretStore for NoSessionKey {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        Self::check(key).and_then(|()| self.0.get(key))
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        Self::check(key).and_then(|()| self.0.set(key, secret))
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        Self::check(key).and_then(|()| self.0.delete(key))
    }

    fn kind(&self) -> SecretStoreKind {
        self.0.kind()
    }
}

#[tokio::test]
async fn sessions_last_for_the_run_without_a_key() {
    let fixture = Fixture::with_secrets(Arc::new(NoSessionKey(memory()))).await;
    let session = open(&fixture, "2025-11-25").await;
    assert_eq!(session, inner_id(&session));
    assert_eq!(ping(&fixture, &session).await.0, 200);
    let response = fixture
        .session_request(&session, "1", "logging/setLevel", r#"{"level":"debug"}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let fixture = fixture.restart().await;
    assert_eq!(ping(&fixture, &session).await, unknown(&fixture).await);
    let again = open(&fixture, "2025-11-25").await;
    assert_eq!(delete(&fixture, &again).await, 204);
    assert_eq!(ping(&fixture, &again).await.0, 404);
}

/// A response that comes after the restart must not pass for that to a new request.
#[tokio::test]
async fn late_response_answers_no_request_of_this_run() {
    let fixture = Fixture::start().await;
    let session = open(&fixture, "2025-06-18").await;
    let mut call = SseReader::new(fixture.session_call(&session, "1", "form", "{}").send().await.unwrap());
    let earlier = call.next().await.unwrap().json();
    assert_eq!(earlier["method"], "elicitation/create");
    let fixture = fixture.restart().await;
    let mut call = SseReader::new(fixture.session_call(&session, "1", "form", "{}").send().await.unwrap());
    let request = call.next().await.unwrap().json();
    for (id, content) in [(&earlier["id"], "earlier"), (&request["id"], "now")] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"of":"{content}"}}}}}}"#
        );
        let sent = fixture.post(body).header("mcp-session-id", &session).send().await.unwrap();
        assert_eq!(sent.status(), 202);
    }
    assert_eq!(call.next().await.unwrap().json()["result"]["response"]["content"]["of"], "now");
}
