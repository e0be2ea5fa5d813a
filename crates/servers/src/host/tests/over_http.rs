//! Servers over Streamable HTTP: both revision families, every kind of response, and the meaning of
//! each error status.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use futures::{StreamExt, stream};
use gatehouse_model::server::Remote;
use gatehouse_model::status::FailureKind;
use http::{HeaderMap, Method};
use serde_json::Value;

use super::*;

const ODD: &str = r#"{ "z":12345678901234567890,  "nothing":null,"a" : [1.0,1e2, "\u00e9"], "content":[] }"#;

struct HttpServerState {
    mode: &'static str,
    seen: Mutex<Vec<ReceivedRequest>>,
    closed: Arc<AtomicBool>,
}

#[derive(Clone)]
struct ReceivedRequest {
    method: Method,
    headers: HeaderMap,
    body: String,
    from: SocketAddr,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl HttpServerState {
    fn last(&self, part: &str) -> Option<ReceivedRequest> {
        self.seen.lock().iter().rfind(|seen| seen.body.contains(part)).cloned()
    }

    async fn wait_for(&self, what: impl Fn(&ReceivedRequest) -> bool) -> ReceivedRequest {
        tokio::time::timeout(LONG, async {
            loop {
                if let Some(seen) = self.seen.lock().iter().find(|seen| what(seen)) {
                    return seen.clone();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .unwrap()
    }
}

fn json(status: u16, body: String) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap()
}

fn events(parts: Vec<String>) -> Response {
    stream_of(stream::iter(parts))
}

fn stream_of(parts: impl futures::Stream<Item = String> + Send + 'static) -> Response {
    let body = Body::from_stream(parts.map(Ok::<_, Infallible>));
    Response::builder().header("content-type", "text/event-stream; charset=utf-8").body(body).unwrap()
}

fn answer(id: &Value, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// Set when the client closes a stream.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn serve(
    State(fixture): State<Arc<HttpServerState>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: axum::extract::Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let seen = ReceivedRequest {
        method: parts.method.clone(),
        headers: parts.headers.clone(),
        body: String::from_utf8(body.to_vec()).unwrap(),
        from,
    };
    fixture.seen.lock().push(seen.clone());
    match parts.method {
        Method::POST => post(&fixture, &seen, parts.uri.path()),
        Method::GET if seen.header("last-event-id") == Some("e1") => {
            let id =
                fixture.last("\"resume\"").map(|seen| serde_json::from_str::<Value>(&seen.body).unwrap());
            events(vec![event(&answer(&id.unwrap()["id"], ODD))])
        }
        Method::GET if fixture.mode == "sse" => {
            let change = event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            stream_of(stream::iter([change]).chain(stream::pending()))
        }
        Method::DELETE => json(200, String::new()),
        _ => json(405, String::new()),
    }
}

fn post(fixture: &HttpServerState, seen: &ReceivedRequest, path: &str) -> Response {
    let message: Value = serde_json::from_str(&seen.body).unwrap();
    let id = &message["id"];
    let refused =
        |code: i32| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#);
    match (fixture.mode, message["method"].as_str().unwrap_or_default()) {
        ("401", _) => Response::builder()
            .status(401)
            .header(
                "www-authenticate",
                r#"Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource""#,
            )
            .body(Body::empty())
            .unwrap(),
        ("403", _) => json(403, String::new()),
        ("500", _) => json(500, String::new()),
        ("html", _) => Response::builder()
            .header("content-type", "text/html")
            .body(Body::from("<html>hello</html>"))
            .unwrap(),
        ("modern", "server/discover") => json(
            200,
            answer(
                id,
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"odd":null}},"ttlMs":0,"cacheScope":"private"}"#,
            ),
        ),
        ("modern", "initialize") => json(400, refused(-32022)),
        ("plain-400", "server/discover") => {
            Response::builder().status(400).body(Body::from("Bad Request: no session")).unwrap()
        }
        ("uncorrelated", "server/discover") => json(
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#.to_owned(),
        ),
        (_, "server/discover") => json(200, refused(-32601)),
        (mode, "initialize") => {
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"z":1,"a":null},"serverInfo":{"name":"old","version":"1"}}"#;
            let mut response = match mode {
                "sse" => events(vec![": hello\n\n".to_owned(), event(&answer(id, result))]),
                _ => json(200, answer(id, result)),
            };
            response.headers_mut().insert("mcp-session-id", "S1".parse().unwrap());
            response
        }
        (_, "tools/list") => json(
            200,
            answer(
                id,
                r#"{"tools":[{"name":"odd","inputSchema":{"type":"object","properties":{"z":{"type":"integer","x-mcp-header":"Zone"}}}}]}"#,
            ),
        ),
        (_, "tools/call") => call_tool(fixture, &message, path),
        _ => Response::builder().status(202).body(Body::empty()).unwrap(),
    }
}

fn call_tool(fixture: &HttpServerState, message: &Value, path: &str) -> Response {
    let id = &message["id"];
    let token = &message["params"]["_meta"]["progressToken"];
    let status = |status: u16| json(status, String::new());
    match message["params"]["name"].as_str().unwrap() {
        "odd" => json(200, answer(id, ODD)),
        "odd-sse" => events(vec![event(&answer(id, ODD))]),
        "refuse" => json(
            400,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"x","data":1e2}}}}"#),
        ),
        "steps" => {
            let mut parts: Vec<String> = (0..50)
                .map(|n| {
                    event(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n}}}}}"#
                    ))
                })
                .collect();
            parts.push(event(&answer(id, "{}")));
            events(parts)
        }
        "hang" => {
            let flag = DropFlag(Arc::clone(&fixture.closed));
            stream_of(stream::once(async { ": waiting\n\n".to_owned() }).chain(stream::pending().map(
                move |part: String| {
                    let _held = &flag;
                    part
                },
            )))
        }
        "ask" => events(vec![
            event(r#"{"jsonrpc":"2.0","id":71,"method":"ping"}"#),
            event(r#"{"jsonrpc":"2.0","id":"s-72","method":"sampling/createMessage","params":{}}"#),
            event(&answer(id, "{}")),
        ]),
        "resume" => events(vec!["id: e1\nretry: 10\ndata:\n\n".to_owned()]),
        "cut" => events(vec![": nothing\n\n".to_owned()]),
        "redirect" if path == "/mcp" => {
            Response::builder().status(307).header("location", "/other").body(Body::empty()).unwrap()
        }
        "redirect" => json(200, answer(id, r#"{"path":"other"}"#)),
        "away" => Response::builder()
            .status(307)
            .header("location", "https://elsewhere.example/")
            .body(Body::empty())
            .unwrap(),
        "429" => Response::builder().status(429).header("retry-after", "17").body(Body::empty()).unwrap(),
        "bad-session" => json(400, r#"{"message":"Bad Request: No valid session ID"}"#.to_owned()),
        "accepted" => status(202),
        other => status(other.parse().unwrap()),
    }
}

pub(super) struct RunningServer {
    fixture: Arc<HttpServerState>,
    pub(super) url: String,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

pub(super) async fn start(mode: &'static str) -> RunningServer {
    start_behind(mode, |app| app).await
}

/// Like `start`, with a middleware.
pub(super) async fn start_behind(
    mode: &'static str,
    front: impl FnOnce(axum::Router) -> axum::Router,
) -> RunningServer {
    let fixture = Arc::new(HttpServerState { mode, seen: Mutex::default(), closed: Arc::default() });
    let app = front(axum::Router::new().fallback(serve).with_state(Arc::clone(&fixture)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let task = tokio::spawn(async move {
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::select! {
            () = stopped.cancelled() => {}
            result = async { axum::serve(listener, service).await } => result.unwrap(),
        }
    });
    RunningServer { fixture, url, stop, task }
}

impl RunningServer {
    pub(super) async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

fn transport(url: &str) -> Transport {
    let headers = BTreeMap::from([("X-Team".to_owned(), "blue ${secret:team}".to_owned())]);
    Transport::Http(Remote { url: url.to_owned(), headers, headers_from: None, ..Remote::default() })
}

fn spec(harness: &ConnectionHarness, url: &str, hint: LifecycleHint) -> ConnectSpec {
    let spec = harness.spec(transport(url), hint);
    let key = gatehouse_store::SecretKey::for_server_field(&spec.config.binding(), "headers/X-Team");
    harness.secrets.set(&key, &Secret::new("t0p")).unwrap();
    spec
}

async fn open(harness: &ConnectionHarness, running: &RunningServer) -> (Connection, mpsc::Receiver<Inbound>) {
    let (sender, inbound) = mpsc::channel(64);
    let spec = spec(harness, &running.url, LifecycleHint::Auto);
    let connection =
        tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await.unwrap().unwrap();
    (connection, inbound)
}

async fn ask(connection: &Connection, name: &str) -> Result<RpcOutcome, RequestError> {
    let params = call(name, r#"{"z":98765432109876543210,"n":null, "b" : 1.0}"#);
    connection.request(UpstreamRequest::new("tools/call", params), limit()).await
}

async fn ask_text(connection: &Connection, name: &str) -> String {
    match ask(connection, name).await.unwrap() {
        RpcOutcome::Result(raw) | RpcOutcome::Error(raw) => raw.get().to_owned(),
    }
}

#[tokio::test]
async fn detects_lifecycle() {
    let table = [
        ("modern", ProtocolFamily::Stateless, LifecycleHint::Discover),
        ("legacy", ProtocolFamily::Stateful, LifecycleHint::Initialize),
        ("sse", ProtocolFamily::Stateful, LifecycleHint::Initialize),
        ("plain-400", ProtocolFamily::Stateful, LifecycleHint::Initialize),
        ("uncorrelated", ProtocolFamily::Stateful, LifecycleHint::Initialize),
    ];
    for (mode, protocol_family, learned) in table {
        let harness = ConnectionHarness::new();
        let running = start(mode).await;
        let (connection, _inbound) = open(&harness, &running).await;
        assert_eq!(
            (connection.handshake().protocol_family, connection.handshake().lifecycle),
            (protocol_family, learned),
            "{mode}"
        );
        assert_eq!(ask_text(&connection, "odd").await, ODD, "{mode}");
        connection.close().await;
        for hint in [LifecycleHint::Initialize, LifecycleHint::Discover] {
            let (sender, _inbound) = mpsc::channel(64);
            let spec = spec(&harness, &running.url, hint);
            let connection = connect(&spec, sender, &CancellationToken::new()).await.unwrap();
            assert_eq!(connection.handshake().protocol_family, protocol_family, "{mode} with {hint:?}");
            connection.close().await;
        }
        harness.end().await;
        running.end().await;
    }
}

#[tokio::test]
async fn capabilities_are_unchanged() {
    for (mode, written) in [
        ("legacy", r#"{"tools":{},"z":1,"a":null}"#),
        ("sse", r#"{"tools":{},"z":1,"a":null}"#),
        ("modern", r#"{"tools":{"odd":null}}"#),
    ] {
        let harness = ConnectionHarness::new();
        let running = start(mode).await;
        let (connection, _inbound) = open(&harness, &running).await;
        assert_eq!(connection.handshake().capabilities.get(), written, "{mode}");
        connection.close().await;
        harness.end().await;
        running.end().await;
    }
}

#[tokio::test]
async fn passes_bytes_unchanged() {
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    for tool in ["odd", "odd-sse", "resume"] {
        assert_eq!(ask_text(&connection, tool).await, ODD, "{tool}");
        let seen = running.fixture.last(&format!("\"{tool}\"")).unwrap();
        assert!(
            seen.body.contains(r#""arguments":{"z":98765432109876543210,"n":null, "b" : 1.0}}}"#),
            "{}",
            seen.body
        );
    }
    assert_eq!(ask_text(&connection, "refuse").await, r#"{"code":-32602,"message":"x","data":1e2}"#);
    assert_eq!(ask_text(&connection, "redirect").await, r#"{"path":"other"}"#);
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn requests_carry_version_session_and_configured_headers() {
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    ask(&connection, "odd").await.unwrap();
    let seen = running.fixture.last("tools/call").unwrap();
    assert_eq!(seen.header("mcp-session-id"), Some("S1"));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(seen.header("x-team"), Some("blue t0p"));
    assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(seen.header("mcp-method"), None);
    connection.close().await;
    let goodbye = running.fixture.wait_for(|seen| seen.method == Method::DELETE).await;
    assert_eq!(goodbye.header("mcp-session-id"), Some("S1"));
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn stateless_requests_carry_headers_and_meta() {
    let harness = ConnectionHarness::new();
    let running = start("modern").await;
    let (connection, _inbound) = open(&harness, &running).await;
    connection.request(UpstreamRequest::new("tools/list", RequestParams::none()), limit()).await.unwrap();
    ask(&connection, "odd").await.unwrap();
    let seen = running.fixture.last("tools/call").unwrap();
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("odd"));
    assert_eq!(seen.header("mcp-param-zone"), Some("98765432109876543210"));
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "Gatehouse");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn delivers_progress_in_order_before_result() {
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    for _ in 0..20 {
        let (sink, seen) = collect();
        let mut request = UpstreamRequest::new("tools/call", call("steps", "{}"));
        request.progress = Some(sink);
        connection.request(request, limit()).await.unwrap();
        let numbers: Vec<i64> = seen
            .lock()
            .iter()
            .map(|params| serde_json::from_str::<Value>(params).unwrap()["progress"].as_i64().unwrap())
            .collect();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    }
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn cancellation_reaches_server() {
    for (mode, told) in [("legacy", true), ("modern", false)] {
        let harness = ConnectionHarness::new();
        let running = start(mode).await;
        let (connection, _inbound) = open(&harness, &running).await;
        let short = CallLimit::total(Duration::from_millis(300));
        let outcome = connection.request(UpstreamRequest::new("tools/call", call("hang", "{}")), short).await;
        assert!(matches!(outcome, Err(RequestError::TimedOut { .. })), "{outcome:?}");
        if told {
            let cancelled =
                running.fixture.wait_for(|seen| seen.body.contains("notifications/cancelled")).await;
            assert!(cancelled.body.contains(r#""requestId":"g1""#), "{}", cancelled.body);
        }
        tokio::time::timeout(LONG, async {
            while !running.fixture.closed.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
        .unwrap();
        connection.close().await;
        assert_eq!(running.fixture.last("notifications/cancelled").is_some(), told, "{mode}");
        harness.end().await;
        running.end().await;
    }
}

#[tokio::test]
async fn answers_ping_and_rejects_other_requests() {
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    ask(&connection, "ask").await.unwrap();
    let pong = running.fixture.wait_for(|seen| seen.body.contains(r#""id":71"#)).await;
    assert!(pong.body.contains(r#""result":{}"#), "{}", pong.body);
    let refused = running.fixture.wait_for(|seen| seen.body.contains(r#""id":"s-72""#)).await;
    assert!(refused.body.contains("-32602"), "{}", refused.body);
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn receives_changes_on_event_stream() {
    let harness = ConnectionHarness::new();
    let running = start("sse").await;
    let (connection, mut inbound) = open(&harness, &running).await;
    assert_eq!(tokio::time::timeout(LONG, inbound.recv()).await.unwrap(), Some(Inbound::ToolsChanged));
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn classifies_refused_requests() {
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    let outcome = |name: &'static str| {
        let connection = connection.clone();
        async move { ask(&connection, name).await.unwrap_err() }
    };
    assert!(matches!(outcome("401").await, RequestError::NeedsAuth { issuer: None }));
    assert!(matches!(outcome("403").await, RequestError::Forbidden));
    assert!(matches!(outcome("405").await, RequestError::Status { status: 405, .. }));
    assert!(matches!(outcome("429").await, RequestError::Status { status: 429, retry_after: Some(17), .. }));
    assert!(matches!(outcome("503").await, RequestError::Status { status: 503, .. }));
    assert!(matches!(outcome("accepted").await, RequestError::Protocol(_)));
    assert!(matches!(outcome("cut").await, RequestError::Protocol(_)));
    let away = outcome("away").await;
    assert!(away.to_string().contains("elsewhere.example"), "{away}");
    // A response that says that the session is unknown also ends the connection.
    assert!(matches!(outcome("bad-session").await, RequestError::SessionGone));
    assert_eq!(connection.closed().await.cause, CloseCause::SessionGone);
    assert!(matches!(outcome("odd").await, RequestError::Closed(_)));
    connection.close().await;

    let (connection, _inbound) = open(&harness, &running).await;
    assert!(matches!(ask(&connection, "404").await, Err(RequestError::SessionGone)));
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn reports_connect_errors() {
    let table = [
        ("401", FailureKind::Authorization, "sign in"),
        ("403", FailureKind::Authorization, "HTTP 403"),
        ("500", FailureKind::TemporaryNetwork, "HTTP status 500"),
        ("html", FailureKind::Protocol, "neither JSON nor a stream"),
    ];
    for (mode, kind, words) in table {
        let harness = ConnectionHarness::new();
        let running = start(mode).await;
        let (sender, _inbound) = mpsc::channel(1);
        let spec = spec(&harness, &running.url, LifecycleHint::Auto);
        let error = connect(&spec, sender, &CancellationToken::new()).await.err().unwrap();
        assert_eq!(error.failure_kind(), kind, "{mode}: {error}");
        assert!(error.to_string().contains(words), "{mode}: {error}");
        if let ConnectError::Request(RequestError::NeedsAuth { issuer }) = &error {
            assert_eq!(issuer.as_deref(), Some("https://auth.example"));
        }
        harness.end().await;
        running.end().await;
    }
    let table = [
        ("http://127.0.0.1:1/mcp", FailureKind::TemporaryNetwork, "refused"),
        ("http://no-such-host.invalid/mcp", FailureKind::PermanentNetwork, "no machine of this name"),
        ("ftp://localhost/", FailureKind::Configuration, "must begin with"),
        ("no address", FailureKind::Configuration, "cannot be read"),
    ];
    for (url, kind, words) in table {
        let harness = ConnectionHarness::new();
        let (sender, _inbound) = mpsc::channel(1);
        let error = connect(&spec(&harness, url, LifecycleHint::Auto), sender, &CancellationToken::new())
            .await
            .err()
            .unwrap();
        let temporary = url.contains("invalid") && error.failure_kind() == FailureKind::TemporaryNetwork;
        assert!(error.failure_kind() == kind || temporary, "{url}: {error}");
        assert!(temporary || error.to_string().contains(words), "{url}: {error}");
        harness.end().await;
    }
}

#[tokio::test]
async fn loopback_calls_are_fast_and_reuse_connections() {
    const CALLS: u32 = 200;
    let harness = ConnectionHarness::new();
    let running = start("legacy").await;
    let (connection, _inbound) = open(&harness, &running).await;
    for (tool, most) in [("odd", 3), ("odd-sse", 200)] {
        ask(&connection, tool).await.unwrap();
        running.fixture.seen.lock().clear();
        let begun = std::time::Instant::now();
        for _ in 0..CALLS {
            ask(&connection, tool).await.unwrap();
        }
        let each = begun.elapsed() / CALLS;
        let mut ports: Vec<u16> = running.fixture.seen.lock().iter().map(|seen| seen.from.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        println!("{tool}: {each:?} a call, {} connections", ports.len());
        // A delayed acknowledgement would add 40 ms.
        assert!(each < Duration::from_millis(40), "{tool}: {each:?}");
        assert!(ports.len() <= most, "{tool}: {} connections", ports.len());
    }
    connection.close().await;
    harness.end().await;
    running.end().await;
}
