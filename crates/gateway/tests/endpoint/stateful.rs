//! The revisions with sessions.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::Event;
use gatehouse_model::server::LogLevel;
use gatehouse_tools::{ByteLimits, NotificationKind, ProtocolFamily};
use serde_json::{Value, json};

use crate::fixture::{Fixture, SseReader, eventually, inner_id, text};

#[tokio::test]
async fn initialize_negotiates_version() {
    let fixture = Fixture::start().await;
    for (requested, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1.0", "2025-11-25"),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":"{requested}","capabilities":{{}},"clientInfo":{{"name":"n","version":"1"}}}}}}"#
        );
        let response = fixture.post(body).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert!(session.starts_with("ses-") && session.len() < 400, "{session}");
        assert!(session.bytes().all(|byte| byte.is_ascii_graphic()), "{session}");
        let message: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(message["id"], "i");
        assert_eq!(message["result"]["protocolVersion"], agreed, "{requested}");
        assert_eq!(message["result"]["serverInfo"]["name"], "Gatehouse");
        assert_eq!(
            message["result"]["capabilities"],
            json!({
                "tools": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "prompts": { "listChanged": true },
                "completions": {}, "logging": {},
            })
        );
        assert_eq!(message["result"].get("resultType"), None);
    }
    assert_eq!(fixture.registry.list()[0].sessions, 6);
    assert_eq!(fixture.registry.list()[0].says.as_deref(), Some("n 1"));
}

#[tokio::test]
async fn responds_to_ping_logging_and_list_requests() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    for (method, params, expected) in [
        ("ping", "{}", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        ("logging/setLevel", r#"{"level":"debug"}"#, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        (
            "tools/list",
            "{}",
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"},"x-kept":12345678901234567890}]}}"#,
        ),
        (
            "nonsense",
            "{}",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"There is no method nonsense."}}"#,
        ),
        (
            "tools/call",
            "{}",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The member `name` must be the tool's name."}}"#,
        ),
        (
            "tools/list",
            r#"{"cursor":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"This cursor was not given out by Gatehouse."}}"#,
        ),
    ] {
        let response = fixture.session_request(&session, "1", method, params).send().await.unwrap();
        assert_eq!(response.status(), 200, "{method}");
        assert_eq!(text(response).await, expected);
    }
    // A response to a request that was never sent is ignored.
    let response = fixture
        .post(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#)
        .header("mcp-session-id", &session)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 202);
}

#[tokio::test]
async fn calls_preserve_bytes_except_members_of_the_newest_revision() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-06-18").await;
    let odd = r#"{"z":1.50,"a":null, "n":123456789012345678901234567890}"#;
    let response = fixture.session_call(&session, "1", "echo", odd).send().await.unwrap();
    assert_eq!(
        text(response).await,
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"echo":{odd}}}}}"#)
    );
    let recorded = fixture.script.recorded_calls.lock()[0].clone();
    assert_eq!(recorded.arguments.as_deref(), Some(odd));
    assert_eq!(
        (recorded.protocol_family, recorded.session.as_deref()),
        (ProtocolFamily::Stateful, Some(inner_id(&session).as_str()))
    );
    assert_eq!(recorded.client_info.as_deref(), Some("old 1"));
    for (given, expected) in [
        (r#"{"resultType":"complete","content":[],"x":1.0}"#, r#""result":{"content":[],"x":1.0}}"#),
        (
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"x":1.0,"io.modelcontextprotocol/serverInfo":{"name":"s"}},"content":[]}"#,
            r#""result":{"_meta":{"x":1.0},"content":[]}}"#,
        ),
        (r#"{"ttlMs":1.0,"content":[]}"#, r#""result":{"ttlMs":1.0,"content":[]}}"#),
        (
            r#"{"resultType":"input_required","inputRequests":{}}"#,
            r#""error":{"code":-32603,"message":"The server wants something (input or a task) that this client's revision of the protocol cannot carry."}}"#,
        ),
    ] {
        let response = fixture.session_call(&session, "1", "give", given).send().await.unwrap();
        assert_eq!(text(response).await, format!(r#"{{"jsonrpc":"2.0","id":1,{expected}"#));
    }
    let error = r#"{"code":-32002,"message":"gone"}"#;
    let response = fixture.session_call(&session, "1", "fail", error).send().await.unwrap();
    assert_eq!(text(response).await, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#));
}

#[tokio::test]
async fn progress_keeps_order_and_client_token() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let stream =
        SseReader::new(fixture.session_call(&session, r#""c""#, "steps", "{}").send().await.unwrap());
    fixture.script.release.add_permits(1);
    let events = stream.all().await;
    let steps: Vec<f64> =
        events.iter().filter_map(|event| event.json()["params"]["progress"].as_f64()).collect();
    assert_eq!(steps, (1..=40).map(f64::from).collect::<Vec<_>>());
    assert!(events[..40].iter().all(|event| event.json()["params"]["progressToken"] == 77));
    assert_eq!(events[40].data, r#"{"jsonrpc":"2.0","id":"c","result":{"content":[]}}"#);
    // Every event has an id of its own.
    let mut ids: Vec<_> = events.iter().map(|event| event.id.clone().unwrap()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 41);
}

#[tokio::test]
async fn cancels_call_only_on_matching_notification() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let stream = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    let cancel = |id: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        fixture.post(body).header("mcp-session-id", &session).send()
    };
    // Neither another id nor the same id in another session.
    let other = fixture.session("2025-11-25").await;
    assert_eq!(cancel(r#""5""#).await.unwrap().status(), 202);
    let foreign = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
    assert_eq!(fixture.post(foreign).header("mcp-session-id", &other).send().await.unwrap().status(), 202);
    fixture.script.release.add_permits(1);
    assert_eq!(stream.all().await.last().unwrap().json()["result"]["waited"], true);
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 0);
    let stream = SseReader::new(fixture.session_call(&session, "6", "wait", "{}").send().await.unwrap());
    assert_eq!(cancel("6").await.unwrap().status(), 202);
    stream.all().await;
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn cancelled_call_gets_no_response_and_passes_its_reason_on() {
    let fixture = Fixture::start().await;
    for (revision, accept) in [
        ("2025-11-25", "application/json, text/event-stream"),
        ("2025-06-18", "application/json, text/event-stream"),
        ("2025-06-18", "application/json"),
    ] {
        let session = fixture.session(revision).await;
        let mut call = fixture.session_call(&session, "6", "wait", "{}").build().unwrap();
        call.headers_mut().insert("accept", accept.parse().unwrap());
        let sent = tokio::spawn(fixture.http.execute(call));
        fixture.wait_for_call().await;
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"Changed my mind: \u00e9."}}"#;
        let cancelled = fixture.post(cancel).header("mcp-session-id", &session).send().await.unwrap();
        assert_eq!(cancelled.status(), 202);
        let response = sent.await.unwrap().unwrap();
        assert!(response.status().is_success());
        let body = response.text().await.unwrap();
        assert!(!body.contains("result") && !body.contains("error"), "{revision} {accept}: {body}");
        // Nor is there anything to come back for.
        if let Some(id) = body.lines().find_map(|line| line.strip_prefix("id: ")) {
            let resumed = fixture.stream(&session).header("last-event-id", id).send().await.unwrap();
            assert_eq!(resumed.status(), 400);
        }
    }
    let reasons: Vec<Option<String>> = fixture.script.cancel_reasons.lock().clone();
    assert_eq!(reasons, vec![Some("Changed my mind: é.".to_owned()); 3]);
}

#[tokio::test]
async fn rejects_request_id_in_flight() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let stream = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    let second = fixture.session_call(&session, "5", "echo", "{}").send().await.unwrap();
    assert_eq!(second.status(), 400);
    fixture.script.release.add_permits(1);
    assert_eq!(stream.all().await.last().unwrap().json()["result"]["waited"], true);
    let again = fixture.session_call(&session, "5", "echo", "{}").send().await.unwrap();
    assert_eq!(again.status(), 200);
}

#[tokio::test]
async fn resumes_lost_stream_without_cancelling_call() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut stream = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    let primed = stream.next().await.unwrap();
    assert_eq!(
        (primed.kind.as_deref(), primed.data.as_str()),
        (Some("prime"), ""),
        "no message to be parsed"
    );
    drop(stream);
    fixture.wait_until_client_left().await;
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 0);
    // Resumed while it still runs, lost again, and resumed once more after its end.
    let last = primed.id.unwrap();
    let resumed =
        SseReader::new(fixture.stream(&session).header("last-event-id", &last).send().await.unwrap());
    drop(resumed);
    fixture.script.release.add_permits(1);
    eventually("the call is finished", || fixture.script.finished.load(Ordering::SeqCst) == 1).await;
    for _ in 0..2 {
        let resumed =
            SseReader::new(fixture.stream(&session).header("last-event-id", &last).send().await.unwrap());
        let events = resumed.all().await;
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].data, r#"{"jsonrpc":"2.0","id":5,"result":{"content":[],"waited":true}}"#);
    }
    // Not under another session of the same client.
    let other = fixture.session("2025-11-25").await;
    let refused = fixture.stream(&other).header("last-event-id", &last).send().await.unwrap();
    assert_eq!(refused.status(), 400);
}

#[tokio::test]
async fn stream_over_the_byte_budget_cannot_be_resumed() {
    // Room for one of the two streams.
    let fixture = Fixture::with_byte_limits(ByteLimits { client: 150, all: 1000 }).await;
    let mut finished_streams = Vec::new();
    for _ in 0..2 {
        let session = fixture.session("2025-11-25").await;
        let stream = SseReader::new(fixture.session_call(&session, "1", "wait", "{}").send().await.unwrap());
        fixture.script.release.add_permits(1);
        let events = stream.all().await;
        finished_streams.push((session, events[0].id.clone().unwrap()));
    }
    let resume = async |number: usize| {
        let (session, last_event_id) = &finished_streams[number];
        fixture.stream(session).header("last-event-id", last_event_id).send().await.unwrap()
    };
    let evicted = resume(0).await;
    assert_eq!(evicted.status(), 400);
    assert!(text(evicted).await.contains("not kept any more"));
    let resumed = SseReader::new(resume(1).await).all().await;
    assert_eq!(resumed.last().unwrap().json()["result"]["waited"], true);
}

#[tokio::test]
async fn sends_no_priming_event_to_older_clients() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-06-18").await;
    let stream = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    fixture.script.release.add_permits(1);
    let events = stream.all().await;
    assert_eq!(events.len(), 1);
    assert!(events[0].id.is_some());
}

#[tokio::test]
async fn dropped_request_runs_to_completion() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let request = fixture.session_call(&session, "5", "wait", "{}");
    let sent = tokio::spawn(request.send());
    fixture.wait_for_call().await;
    sent.abort();
    fixture.wait_until_client_left().await;
    fixture.script.release.add_permits(1);
    eventually("the call is finished", || fixture.script.finished.load(Ordering::SeqCst) == 1).await;
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sends_list_changed_on_get_stream() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let mut stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    for _ in 0..5 {
        fixture.script.set_tools(&[r#"{"name":"new","inputSchema":{}}"#]);
    }
    assert_eq!(stream.next().await.unwrap().data, changed);
    let list = text(fixture.session_request(&session, "1", "tools/list", "{}").send().await.unwrap()).await;
    assert_eq!(list, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"new","inputSchema":{}}]}}"#);
    // A newer stream ends the older one.
    let mut second = SseReader::new(fixture.stream(&session).send().await.unwrap());
    assert_eq!(stream.next().await, None);
    fixture.script.set_tools(&[]);
    assert_eq!(second.next().await.unwrap().data, changed);
    // A change while a session has no stream is announced on its next one. All sessions are notified at once, so
    // the notification of another session shows that the change was announced.
    let without_stream = fixture.session("2025-11-25").await;
    fixture.script.set_tools(&[r#"{"name":"newer","inputSchema":{}}"#]);
    assert_eq!(second.next().await.unwrap().data, changed);
    let mut first_stream = SseReader::new(fixture.stream(&without_stream).send().await.unwrap());
    assert_eq!(first_stream.next().await.unwrap().data, changed);
}

#[tokio::test]
async fn delete_ends_session_streams_and_calls() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut get_stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    let call = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    let delete =
        || fixture.http.delete(fixture.url()).bearer_auth(&fixture.token).header("mcp-session-id", &session);
    assert_eq!(delete().send().await.unwrap().status(), 204);
    assert_eq!(get_stream.next().await, None);
    assert_eq!(call.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    assert_eq!(fixture.session_request(&session, "6", "ping", "{}").send().await.unwrap().status(), 404);
    assert_eq!(delete().send().await.unwrap().status(), 404);
    assert_eq!(*fixture.script.ended_sessions.lock(), [inner_id(&session)]);
    assert_eq!(fixture.registry.list()[0].sessions, 0);
    let recorded_events = fixture.recorded_events.0.lock().clone();
    assert_eq!(recorded_events.last(), Some(&Event::ClientGone { client: fixture.entry.id.clone() }));
}

#[tokio::test]
async fn session_65_evicts_longest_idle() {
    let fixture = Fixture::start().await;
    let busy = fixture.session("2025-11-25").await;
    let stream = SseReader::new(fixture.stream(&busy).send().await.unwrap());
    let idle = fixture.session("2025-11-25").await;
    for _ in 2..64 {
        fixture.session("2025-11-25").await;
    }
    assert!(fixture.script.ended_sessions.lock().is_empty());
    fixture.session("2025-11-25").await;
    assert_eq!(*fixture.script.ended_sessions.lock(), [inner_id(&idle)]);
    assert_eq!(fixture.session_request(&busy, "1", "ping", "{}").send().await.unwrap().status(), 200);
    assert_eq!(fixture.registry.list()[0].sessions, 64);
    drop(stream);
}

#[tokio::test]
async fn shutdown_ends_sessions_and_calls() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut get_stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    let old = SseReader::new(fixture.session_call(&session, "5", "wait", "{}").send().await.unwrap());
    let new = SseReader::new(fixture.stateless_call("6", "wait", "{}").send().await.unwrap());
    let started = std::time::Instant::now();
    fixture.gateway.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(get_stream.next().await, None);
    assert_eq!(old.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    drop(new);
    eventually("both calls are cancelled", || fixture.script.cancelled.load(Ordering::SeqCst) == 2).await;
    assert!(fixture.http.get(fixture.url()).send().await.is_err());
}

#[tokio::test]
async fn passes_notifications_on_to_the_sessions_that_they_are_for() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let subscribe = fixture.session_request(&session, "1", "resources/subscribe", r#"{"uri":"x://a"}"#);
    assert_eq!(subscribe.send().await.unwrap().status(), 200);
    let mut stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    // Nobody asked this client about that elicitation, and a custom method doesn't say which server it comes from.
    let unknown = NotificationKind::ElicitationCompleted { id: "e".into() };
    fixture.script.notify(unknown, r#"{"elicitationId":"e"}"#);
    fixture.script.notify(NotificationKind::Custom { method: "vendor/moved".into() }, "{}");
    fixture
        .script
        .notify(NotificationKind::Log { level: LogLevel::Debug }, r#"{"level":"debug","data":1.0}"#);
    assert_eq!(
        stream.next().await.unwrap().data,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":1.0}}"#,
        "until the client sets a level"
    );
    let level = fixture.session_request(&session, "2", "logging/setLevel", r#"{"level":"error"}"#);
    assert_eq!(level.send().await.unwrap().status(), 200);
    fixture.script.notify(NotificationKind::Log { level: LogLevel::Debug }, r#"{"level":"debug","data":2}"#);
    let updated = NotificationKind::ResourceUpdated { uri: "a".into() };
    fixture.script.notify(updated, r#"{"uri":"a","title":"A","_meta":{"k":1.0}}"#);
    assert_eq!(
        stream.next().await.unwrap().data,
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"k":1.0},"uri":"x://a","title":"A"}}"#
    );
}

#[tokio::test]
async fn initialize_does_not_exist_in_the_stateless_revision() {
    let fixture = Fixture::start().await;
    let params = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    let with_meta = fixture.stateless_request("1", "initialize", params);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#);
    let with_header = fixture.post(body).header("mcp-protocol-version", "2026-07-28");
    for request in [with_meta, with_header] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 404);
        let message: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!((&message["id"], &message["error"]["code"]), (&json!(1), &json!(-32601)));
    }
    assert_eq!(fixture.registry.list()[0].sessions, 0);
}
