//! HTTP+SSE, the transport of 2024-11-05.

use gatehouse_tools::ByteLimits;
use serde_json::{Value, json};

use crate::fixture::{Fixture, SseReader, eventually};

/// A client of HTTP+SSE.
struct SseClient<'a> {
    fixture: &'a Fixture,
    events: SseReader,
    messages_url: String,
}

fn url(fixture: &Fixture, path: &str) -> String {
    format!("{}{path}", fixture.url().trim_end_matches("/mcp"))
}

impl<'a> SseClient<'a> {
    async fn open(fixture: &'a Fixture, path: &str) -> Self {
        let request = fixture.http.get(url(fixture, path)).bearer_auth(&fixture.token);
        let response = request.header("accept", "text/event-stream").send().await.unwrap();
        let mut events = SseReader::new(response);
        let endpoint = events.next().await.unwrap();
        assert_eq!(endpoint.kind.as_deref(), Some("endpoint"));
        let messages_url = url(fixture, &endpoint.data);
        Self { fixture, events, messages_url }
    }

    async fn initialized(fixture: &'a Fixture, path: &str) -> Self {
        let mut client = Self::open(fixture, path).await;
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;
        assert_eq!(client.post(hello).await, 202);
        let answer = client.next().await;
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(client.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await, 202);
        client
    }

    async fn post(&self, body: &str) -> u16 {
        let request = self.fixture.http.post(&self.messages_url).bearer_auth(&self.fixture.token);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        request.send().await.unwrap().status().as_u16()
    }

    async fn next(&mut self) -> Value {
        let event = self.events.next().await.unwrap();
        assert_eq!(event.kind, None, "which means `message`");
        event.json()
    }

    async fn call(&self, id: u32, tool: &str, arguments: &str) {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
        );
        assert_eq!(self.post(&body).await, 202);
    }
}

#[tokio::test]
async fn serves_calls_lists_and_errors_on_the_stream() {
    let fixture = Fixture::start().await;
    let mut client = SseClient::initialized(&fixture, "/sse").await;
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await, 202);
    assert_eq!(client.next().await["result"]["tools"][0]["name"], "echo");
    client.call(2, "echo", r#"{"n":1.0}"#).await;
    assert_eq!(
        client.next().await,
        json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [], "echo": { "n": 1.0 } } })
    );
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":3,"method":"nonsense"}"#).await, 202);
    assert_eq!(client.next().await["error"]["code"], -32601);
    assert_eq!(
        client
            .post(
                r#"{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#
            )
            .await,
        202
    );
    assert_eq!(client.next().await["error"]["code"], -32600, "once for each connection");
    assert_eq!(client.post("{").await, 400);
    fixture.script.set_tools(&[]);
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(fixture.registry.list()[0].sessions, 1);
}

#[tokio::test]
async fn carries_progress_and_many_results_in_order_of_each_call() {
    let fixture = Fixture::start().await;
    let mut client = SseClient::initialized(&fixture, "/sse").await;
    fixture.script.release.add_permits(1);
    client.call(7, "steps", "{}").await;
    for step in 1..=40 {
        let progress = client.next().await;
        assert_eq!(progress["params"]["progressToken"], 7);
        assert_eq!(progress["params"]["progress"], f64::from(step));
    }
    assert_eq!(client.next().await["id"], 7);
    // Far more than is kept for a client that doesn't read: nothing is lost, since responses wait.
    let text = "x".repeat(300 * 1024);
    for id in 100..140 {
        client.call(id, "give", &format!(r#"{{"content":[],"text":"{text}"}}"#)).await;
    }
    let mut ids = Vec::new();
    while ids.len() < 40 {
        ids.push(client.next().await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (100..140).collect::<Vec<u64>>());
}

/// Tried: to have responses kept on a stream that nobody reads. Stopped by: they wait within the budget of the client;
/// over it, the stream ends.
#[tokio::test]
async fn stream_that_nobody_reads_ends_over_the_budget() {
    const CALLS: u32 = 200;
    let fixture = Fixture::with_byte_limits(ByteLimits { client: 2 << 20, all: 4 << 20 }).await;
    let mut client = SseClient::initialized(&fixture, "/sse").await;
    // Far more than the budget, and what the sockets hold.
    let text = "x".repeat(256 * 1024);
    for id in 1..=CALLS {
        client.call(id, "give", &format!(r#"{{"content":[],"text":"{text}"}}"#)).await;
    }
    let mut received = 0;
    while client.events.next().await.is_some() {
        received += 1;
    }
    assert!((1..CALLS).contains(&received), "{received}");
    eventually("the session ends", || fixture.registry.list()[0].sessions == 0).await;
}

#[tokio::test]
async fn session_ends_with_the_stream() {
    let fixture = Fixture::start().await;
    let client = SseClient::initialized(&fixture, "/sse").await;
    client.call(1, "wait", "{}").await;
    fixture.wait_for_call().await;
    let SseClient { events, messages_url, .. } = client;
    drop(events);
    eventually("the session ends", || fixture.registry.list()[0].sessions == 0).await;
    eventually("its call is cancelled", || {
        fixture.script.cancelled.load(std::sync::atomic::Ordering::SeqCst) == 1
    })
    .await;
    let late = fixture.http.post(messages_url).bearer_auth(&fixture.token);
    let late =
        late.header("content-type", "application/json").body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(late.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn messages_belong_to_client_and_endpoint_of_the_stream() {
    let fixture = Fixture::start().await;
    let client = SseClient::open(&fixture, "/sse").await;
    let (_, other) = fixture.registry.add("Other").await.unwrap();
    let query = client.messages_url.split_once('?').unwrap().1.to_owned();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (what, path, token, status) in [
        ("another client", format!("/messages?{query}"), other.reveal(), 404),
        ("another endpoint", format!("/servers/own%20server/messages?{query}"), fixture.token.as_str(), 404),
        ("no session", "/messages".to_owned(), fixture.token.as_str(), 404),
        ("an unknown session", "/messages?sessionId=sse-0".to_owned(), fixture.token.as_str(), 404),
        ("no token", format!("/messages?{query}"), "wrong", 401),
    ] {
        let request = fixture.http.post(url(&fixture, &path)).bearer_auth(token);
        let request = request.header("content-type", "application/json").body(body);
        assert_eq!(request.send().await.unwrap().status(), status, "{what}");
    }
    for (what, request, status) in [
        ("a POST to the stream", fixture.http.post(url(&fixture, "/sse")), 405),
        ("a GET of messages", fixture.http.get(&client.messages_url), 405),
        (
            "no stream accepted",
            fixture.http.get(url(&fixture, "/sse")).header("accept", "application/json"),
            406,
        ),
    ] {
        assert_eq!(request.bearer_auth(&fixture.token).send().await.unwrap().status(), status, "{what}");
    }
    let foreign = fixture.http.get(url(&fixture, "/sse")).bearer_auth(&fixture.token);
    let foreign = foreign.header("accept", "text/event-stream").header("origin", "https://evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
    // A request before `initialize` finds no session, on its own stream too.
    let mut client = client;
    assert_eq!(client.post(body).await, 202);
    assert_eq!(client.next().await["error"]["code"], -32001);
}

#[tokio::test]
async fn stream_ends_when_its_client_is_revoked() {
    let fixture = Fixture::start().await;
    let unused = SseClient::open(&fixture, "/sse").await;
    let used = SseClient::initialized(&fixture, "/servers/own%20server/sse").await;
    fixture.registry.revoke(fixture.entry.id.as_str()).await.unwrap();
    for client in [unused, used] {
        assert_eq!(client.events.all().await, []);
    }
}

#[tokio::test]
async fn serves_one_server_by_its_own_names() {
    let fixture = Fixture::start().await;
    let mut client = SseClient::initialized(&fixture, "/servers/own%20server/sse").await;
    assert_eq!(client.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await, 202);
    assert_eq!(client.next().await["result"]["tools"][0]["name"], "own Tools of s");
}
