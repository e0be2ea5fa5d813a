//! Every kind of bad input and its exact response. None of it reaches a tool.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fixture::{Fixture, TEST_TIMEOUT, text};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Sends bytes as they are and returns the response up to the end of the connection.
pub(crate) async fn raw_http(port: u16, bytes: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    tokio::time::timeout(TEST_TIMEOUT, stream.read_to_end(&mut response)).await.unwrap().unwrap();
    String::from_utf8(response).unwrap()
}

#[tokio::test]
async fn rejects_wrong_token_before_reading_body() {
    let fixture = Fixture::start().await;
    let missing = "A token is needed: add this client in Gatehouse";
    let unknown = "Gatehouse knows no client with this token.";
    for (header, message) in [
        (None, missing),
        (Some("Bearer wrong"), unknown),
        (Some("Bearer "), unknown),
        (Some("Basic dXNlcjpwYXNz"), unknown),
    ] {
        let mut request = fixture.http.post(fixture.url()).body("not even json");
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{header:?}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        // Only who has no token is led to where one can be asked for.
        let metadata = fixture.url().replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
        assert_eq!(challenge.contains(&metadata), header.is_none(), "{challenge}");
        assert_eq!(challenge.contains("error=\"invalid_token\""), header.is_some(), "{challenge}");
        let body = text(response).await;
        assert!(body.contains(message), "{body}");
    }
    // The response is sent although the announced body never is.
    let response = raw_http(
        fixture.port(),
        &format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n",
            fixture.port()
        ),
    )
    .await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[tokio::test]
async fn rejects_foreign_host_and_origin() {
    let fixture = Fixture::start().await;
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "evil.example:80"),
        ("host", "127.0.0.1"),
        ("host", "127.0.0.1:1"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
    ] {
        let response = fixture.post(PING).header(name, value).send().await.unwrap();
        assert_eq!(response.status(), 403, "{name}: {value}");
        assert!(text(response).await.contains(r#""code":-32600"#));
    }
    let fine = fixture.post(PING).header("origin", "http://localhost:6274").send().await.unwrap();
    assert_eq!(fine.status(), 400, "refused for the missing session, not for its Origin");
}

#[tokio::test]
async fn rejects_unsupported_request_heads() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let with = |builder: reqwest::RequestBuilder| builder.bearer_auth(&fixture.token);
    let url = fixture.url();
    for (what, request, status) in [
        ("another path", with(fixture.http.post(url.replace("/mcp", "/"))), 404),
        ("another method", with(fixture.http.put(&url)), 405),
        ("no content type", with(fixture.http.post(&url)).body(PING), 415),
        ("a web form", with(fixture.http.post(&url)).header("content-type", "text/plain").body(PING), 415),
        (
            "accepts no type that is served",
            with(fixture.http.post(&url))
                .header("content-type", "application/json")
                .header("accept", "text/html")
                .body(PING),
            406,
        ),
        ("a GET without a session", with(fixture.http.get(&url)).header("accept", "text/event-stream"), 400),
        (
            "a GET of the stateless revision",
            fixture.stream(&session).header("mcp-protocol-version", "2026-07-28"),
            405,
        ),
        (
            "a GET that accepts no stream",
            with(fixture.http.get(&url)).header("mcp-session-id", &session),
            406,
        ),
        (
            "a version without sessions",
            fixture.stream(&session).header("mcp-protocol-version", "1999-01-01"),
            400,
        ),
        ("an unknown session", fixture.stream("ses-0"), 404),
        ("ending an unknown session", with(fixture.http.delete(&url)).header("mcp-session-id", "ses-0"), 404),
        ("resuming an unknown stream", fixture.stream(&session).header("last-event-id", "7-7"), 400),
        ("an event id that is none", fixture.stream(&session).header("last-event-id", "nonsense"), 400),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{what}");
        assert!(
            text(response).await.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32"#),
            "{what}"
        );
    }
}

#[tokio::test]
async fn serves_streamable_http_with_three_methods() {
    use reqwest::Method;
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let every = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
    ];
    let origin = fixture.url().trim_end_matches("/mcp").to_owned();
    for path in ["/", "/mcp/x", "/MCP", "/%6dcp", "//mcp", "/servers/a/mcp", "/v1/tool", "/mcp"] {
        for method in &every {
            let url = format!("{origin}{path}");
            let response = fixture.http.request(method.clone(), &url).send().await.unwrap();
            assert_eq!(response.status(), 401, "{method} {path}: paths are not told without a token");
            if path != "/mcp" {
                let request = fixture.http.request(method.clone(), &url).bearer_auth(&fixture.token);
                let response = request.header("mcp-session-id", &session).send().await.unwrap();
                assert_eq!(response.status(), 404, "{method} {path}");
            }
        }
    }
    // HEAD is not answered like GET, which would open the session's stream.
    for method in [Method::HEAD, Method::PUT, Method::PATCH, Method::OPTIONS, Method::TRACE] {
        let request = fixture.http.request(method.clone(), fixture.url()).bearer_auth(&fixture.token);
        let request = request.header("accept", "text/event-stream").header("mcp-session-id", &session);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 405, "{method}");
        assert_eq!(response.headers()["allow"], "GET, POST, DELETE", "{method}");
    }
    for method in [Method::GET, Method::DELETE] {
        let request = fixture.http.request(method.clone(), fixture.url()).bearer_auth(&fixture.token);
        let response = request.header("mcp-protocol-version", "2026-07-28").send().await.unwrap();
        assert_eq!(response.status(), 405, "{method} of the stateless revision");
        assert_eq!(response.headers()["allow"], "POST", "{method} of the stateless revision");
    }
}

#[tokio::test]
async fn rejects_20_mib_body_and_delivers_error() {
    let fixture = Fixture::start().await;
    let large = "x".repeat(20 * 1024 * 1024);
    let expected =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The body is larger than 16 MiB."}}"#;
    let response = fixture.post(large.clone()).send().await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(text(response).await, expected);
    // Also when its length is not announced.
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
        large.as_bytes().chunks(1 << 20).map(|piece| Ok(piece.to_vec())).collect();
    let response =
        fixture.post(reqwest::Body::wrap_stream(futures::stream::iter(pieces))).send().await.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(text(response).await, expected);
    // One that just fits is read.
    let fits = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(16_000_000)
    );
    assert_eq!(fixture.post(fits).send().await.unwrap().status(), 400);
}

#[tokio::test]
async fn rejects_malformed_envelopes() {
    let fixture = Fixture::start().await;
    for (body, status, expected_start) in [
        ("{", 400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Not JSON: "#),
        ("", 400, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Batches "#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Not a JSON-RPC message: the member `method` appears twice"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"a":1,"a":2}}}"#,
            400,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"q","method":"tools/call","params":[]}"#,
            400,
            r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32602,"#,
        ),
        (
            PING,
            400,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"The header Mcp-Session-Id is missing; begin with initialize."}}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
            400,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"#,
        ),
    ] {
        let response = fixture.post(body).send().await.unwrap();
        assert_eq!(response.status(), status, "{body}");
        let found = text(response).await;
        assert!(found.starts_with(expected_start), "{body}: {found}");
    }
    assert!(fixture.script.recorded_calls.lock().is_empty());
}

#[tokio::test]
async fn rejects_session_of_another_client() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-06-18").await;
    let (_, other) = fixture.registry.add("Other").await.unwrap();
    for id in [session.as_str(), "ses-ffffffffffffffffffffffffffffffff"] {
        let response = fixture
            .http
            .post(fixture.url())
            .bearer_auth(other.reveal())
            .header("content-type", "application/json")
            .header("mcp-session-id", id)
            .body(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 404);
        assert_eq!(
            text(response).await,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32001,"message":"Session not found: begin anew with initialize."}}"#
        );
    }
}

#[tokio::test]
async fn times_out_incomplete_request_head() {
    let fixture = Fixture::start().await;
    let started = std::time::Instant::now();
    let response = raw_http(fixture.port(), "POST /mcp HTTP/1.1\r\nHost: 127").await;
    assert!(response.is_empty() || response.starts_with("HTTP/1.1 408"), "{response}");
    assert!(started.elapsed().as_secs() < 15);
}

#[tokio::test]
async fn listens_only_on_loopback() {
    use gatehouse_gateway::{Gateway, GatewayError, GatewayServices};
    let fixture = Fixture::start().await;
    let services = || GatewayServices {
        tool_service: std::sync::Arc::clone(&fixture.script) as _,
        retained_bytes: gatehouse_tools::ByteBudget::new(gatehouse_tools::ByteLimits::default()),
        clients: std::sync::Arc::clone(&fixture.registry),
        store: std::sync::Arc::clone(&fixture.store),
        events: std::sync::Arc::clone(&fixture.recorded_events) as _,
        ask: std::sync::Arc::clone(&fixture.user) as _,
        client_documents: std::sync::Arc::clone(&fixture.documents) as _,
        allowed_hosts: std::sync::Arc::clone(&fixture.allowed_hosts),
        clock: std::sync::Arc::new(gatehouse_model::SystemClock),
    };
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = Gateway::bind_with(address.parse().unwrap(), services()).await.err().unwrap();
        assert!(matches!(refused, GatewayError::NotLoopback(_)), "{address}");
    }
    let taken = format!("127.0.0.1:{}", fixture.port());
    let refused = Gateway::bind_with(taken.parse().unwrap(), services()).await.err().unwrap();
    assert!(matches!(refused, GatewayError::PortInUse(_)));
}
