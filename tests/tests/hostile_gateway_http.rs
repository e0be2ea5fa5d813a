//! Requests to the gateway that two programs may read in two ways, or that want something else than its three methods.
//! Each test states what was tried and what stopped it. Nothing of it reaches a server.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use gatehouse_tests::eventually::TEST_TIMEOUT;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, StatelessClient};

/// A body that any session could send, and none of these requests has one.
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A Gatehouse with a server of which everything is allowed.
struct OpenTestbed {
    gatehouse: Gatehouse,
    authority: String,
    token: String,
    other: String,
    /// What reached the server.
    log: PathBuf,
    _server: FixtureServer,
}

impl OpenTestbed {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let log = gatehouse.folder("log")?.join("messages");
        let words = ["--log", log.to_str().context("path")?];
        let server = add(&gatehouse, "raw", ServerTransport::Stdio, &words)?;
        gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
        let (token, other) = (gatehouse.add_client("own")?, gatehouse.add_client("other")?);
        let authority = gatehouse.endpoint.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        Ok(Self { gatehouse, authority, token, other, log, _server: server })
    }

    /// The header lines of a good request, without its length.
    fn head(&self) -> String {
        format!(
            "Host: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json\r\n",
            self.authority, self.token
        )
    }

    /// A whole request that calls a tool, as bytes of another request's body.
    fn call(&self) -> String {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_note","arguments":{"text":"smuggled"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        format!(
            "POST /mcp HTTP/1.1\r\n{}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: write_note\r\nContent-Length: {}\r\n\r\n{body}",
            self.head(),
            body.len()
        )
    }

    /// Sends bytes and returns everything up to the end of the connection.
    fn exchange(&self, bytes: &[u8]) -> Result<String> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        // It may be closed before everything is written.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                bail!("the connection stays open after {:?}", String::from_utf8_lossy(&answer))
            }
            // What was not read resets the connection.
            Ok(_) | Err(_) => Ok(String::from_utf8_lossy(&answer).into_owned()),
        }
    }

    /// Nothing reached the server, and a good client is served.
    fn assert_untouched(&self) -> Result<()> {
        let log = fs::read_to_string(&self.log)?;
        ensure!(!log.contains(r#""tools/call""#), "a call reached the server: {log}");
        let answer = http::stateless_request(&self.gatehouse.endpoint, &self.other, "tools/list", "")?;
        ensure!(answer.status == 200, "{answer:?}");
        Ok(())
    }
}

/// Tried: to hide a second request in a body, by lengths that programs read in different ways, or by header lines that
/// not all of them read. Stopped by: what is ambiguous has one answer and ends the connection.
#[test]
fn no_request_is_smuggled_in_another() -> Result<()> {
    let testbed = OpenTestbed::start()?;
    let (call, length) = (testbed.call(), LIST.len());
    let chunked = format!("{length:x}\r\n{LIST}\r\n0\r\n\r\n");
    let chunked = chunked.as_str();
    let rows = [
        ("two lengths", format!("Content-Length: {length}\r\nContent-Length: 0"), LIST),
        ("a shorter length first", format!("Content-Length: 0\r\nContent-Length: {length}"), LIST),
        ("a list of lengths", format!("Content-Length: {length}, {length}"), LIST),
        ("a signed length", format!("Content-Length: +{length}"), LIST),
        ("a length in hexadecimal", format!("Content-Length: 0x{length:x}"), LIST),
        ("a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked".to_owned(), chunked),
        ("chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 9999".to_owned(), chunked),
        ("an unknown encoding", "Transfer-Encoding: xchunked".to_owned(), chunked),
        ("chunks not last", "Transfer-Encoding: chunked, identity".to_owned(), chunked),
        ("identity and a length", format!("Transfer-Encoding: identity\r\nContent-Length: {length}"), LIST),
        ("a space before the colon", "Transfer-Encoding : chunked".to_owned(), chunked),
        ("a folded header", format!("Content-Length: {length}\r\nX-A: a\r\n b"), LIST),
        ("a folded length", format!("X-A: a\r\n Content-Length: 0\r\nContent-Length: {length}"), LIST),
        ("a zero byte", format!("Content-Length: {length}\r\nX-A: a\0b"), LIST),
        (
            "a lone carriage return",
            format!("Content-Length: {length}\r\nX-A: a\rTransfer-Encoding: chunked"),
            LIST,
        ),
        ("a header without a name", format!("Content-Length: {length}\r\n: x"), LIST),
    ];
    for (what, lines, body) in rows {
        let request = format!("POST /mcp HTTP/1.1\r\n{}{lines}\r\n\r\n{body}{call}", testbed.head());
        let answer = testbed.exchange(request.as_bytes()).context(what)?;
        ensure!(answer.starts_with("HTTP/1.1 400 "), "{what}: {answer}");
        ensure!(answer.matches("HTTP/1.1 ").count() == 1, "{what}: {answer}");
    }
    let older =
        format!("POST /mcp HTTP/1.0\r\n{}Transfer-Encoding: chunked\r\n\r\n{chunked}{call}", testbed.head());
    ensure!(testbed.exchange(older.as_bytes())?.contains(" 400 "));
    let huge = format!(
        "POST /mcp HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{LIST}\r\n0\r\n\r\n{call}",
        testbed.head()
    );
    let answer = testbed.exchange(huge.as_bytes())?;
    ensure!(answer.starts_with("HTTP/1.1 400 ") && answer.matches("HTTP/1.1 ").count() == 1, "{answer}");
    // A token behind the body is none, nor is that of a request in the body.
    for (what, request) in [
        (
            "a trailer",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n{length:x}\r\n{LIST}\r\n0\r\nAuthorization: Bearer {}\r\n\r\n",
                testbed.authority, testbed.token
            ),
        ),
        (
            "no token",
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{call}",
                testbed.authority,
                call.len()
            ),
        ),
    ] {
        let answer = testbed.exchange(request.as_bytes()).context(what)?;
        ensure!(
            answer.starts_with("HTTP/1.1 401 ") && answer.matches("HTTP/1.1 ").count() == 1,
            "{what}: {answer}"
        );
    }
    testbed.assert_untouched()
}

/// Tried: headers that come twice, of which one program takes the first and the other the last. Stopped by: a header that
/// counts once is never taken as either.
#[test]
fn header_that_comes_twice_is_none() -> Result<()> {
    let testbed = OpenTestbed::start()?;
    let (own, other) = (&testbed.token, &testbed.other);
    let host = format!("Host: {}\r\n", testbed.authority);
    let token = format!("Authorization: Bearer {own}\r\n");
    let rest = format!("Accept: application/json\r\nConnection: close\r\nContent-Length: {}\r\n", LIST.len());
    let json = "Content-Type: application/json\r\n";
    for (what, head, status) in [
        ("two tokens", format!("{host}{token}Authorization: Bearer {other}\r\n{json}"), "401"),
        ("the same token twice", format!("{host}{token}{token}{json}"), "401"),
        ("a list of tokens", format!("{host}Authorization: Bearer {own}, Bearer {other}\r\n{json}"), "401"),
        ("a token in another header", format!("{host}X-Authorization: Bearer {own}\r\n{json}"), "401"),
        ("the same host twice", format!("{host}{host}{token}{json}"), "403"),
        ("a foreign host after ours", format!("{host}Host: evil.example\r\n{token}{json}"), "403"),
        ("no host", format!("{token}{json}"), "403"),
        (
            "two origins",
            format!("{host}{token}{json}Origin: http://localhost\r\nOrigin: http://localhost\r\n"),
            "403",
        ),
        ("two types", format!("{host}{token}{json}{json}"), "415"),
        ("two sessions", format!("{host}{token}{json}Mcp-Session-Id: a\r\nMcp-Session-Id: a\r\n"), "400"),
    ] {
        let request = format!("POST /mcp HTTP/1.1\r\n{head}{rest}\r\n{LIST}");
        let answer = testbed.exchange(request.as_bytes()).context(what)?;
        ensure!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
    }
    let call = testbed.call().replacen("\r\n", "\r\nConnection: close\r\n", 1);
    for line in ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: write_note"] {
        let name = line.split(':').next().unwrap_or_default();
        for second in [line.to_owned(), format!("{name}: echo")] {
            let twice = call.replacen(line, &format!("{line}\r\n{second}"), 1);
            let answer = testbed.exchange(twice.as_bytes()).context(second.clone())?;
            ensure!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("-32020"), "{second}: {answer}");
        }
    }
    testbed.assert_untouched()
}

/// Tried: request targets that name another host than `Host` does; methods that make the gateway a proxy, a mirror or
/// another method; another protocol on the connection. Stopped by: both hosts have to be ours, there are three methods,
/// and no upgrade.
#[test]
fn other_targets_methods_and_protocols_are_refused() -> Result<()> {
    let testbed = OpenTestbed::start()?;
    let authority = &testbed.authority;
    let port = authority.rsplit(':').next().context("port")?;
    let head = format!("{}Connection: close\r\n", testbed.head());
    let length = format!("Content-Length: {}\r\n", LIST.len());
    for (start, lines, status) in [
        // DNS rebinding: whatever name leads here, it is not ours.
        (format!("POST http://evil.example:{port}/mcp"), "", "403"),
        ("POST http://evil.example/mcp".to_owned(), "", "403"),
        (format!("POST http://user@{authority}/mcp"), "", "403"),
        (format!("POST ftp://{authority}/mcp"), "", "403"),
        (format!("GET http://evil.example:{port}/mcp"), "", "403"),
        (format!("POST http://{authority}/mcp"), "", "400"),
        (format!("CONNECT evil.example:{port}"), "", "403"),
        (format!("CONNECT {authority}"), "", "404"),
        ("OPTIONS *".to_owned(), "", "404"),
        (
            "OPTIONS /mcp".to_owned(),
            "Access-Control-Request-Method: POST\r\nOrigin: http://localhost\r\n",
            "405",
        ),
        ("TRACE /mcp".to_owned(), "X-Mirror: seen\r\n", "405"),
        ("PUT /mcp".to_owned(), "X-HTTP-Method-Override: POST\r\n", "405"),
        (
            "GET /mcp".to_owned(),
            "X-HTTP-Method-Override: POST\r\nX-HTTP-Method: DELETE\r\nX-Method-Override: POST\r\n",
            "400",
        ),
        (
            "POST /nowhere".to_owned(),
            "X-Original-URL: /mcp\r\nX-Rewrite-URL: /mcp\r\nX-Forwarded-Prefix: /mcp\r\n",
            "404",
        ),
        (
            "POST /mcp".to_owned(),
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
            "400",
        ),
        ("POST /mcp".to_owned(), "X-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\n", "400"),
    ] {
        let request = format!("{start} HTTP/1.1\r\n{head}{lines}{length}\r\n{LIST}");
        let answer = testbed.exchange(request.as_bytes()).with_context(|| start.clone())?;
        ensure!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{start} {lines}: {answer}");
        let said = answer.to_ascii_lowercase();
        for word in ["x-mirror", "access-control-", "\r\nupgrade:", "evil.example"] {
            ensure!(!said.contains(word), "{start} {lines}: {answer}");
        }
    }
    let websocket = format!(
        "GET /mcp HTTP/1.1\r\n{head}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    ensure!(testbed.exchange(websocket.as_bytes())?.starts_with("HTTP/1.1 400 "));
    let http2 = testbed.exchange(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")?;
    ensure!(http2.is_empty() || http2.starts_with("HTTP/1.1 400 "), "{http2}");
    testbed.assert_untouched()
}

/// Sends the rest of a request one byte at a time, and returns how long the gateway took it and what it said.
fn trickle(authority: &str, request: &str, rest: char) -> Result<(Duration, String)> {
    let mut stream = TcpStream::connect(authority)?;
    stream.write_all(request.as_bytes())?;
    // Each wait for an answer is the pause between two bytes.
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let (begun, mut answer) = (Instant::now(), Vec::new());
    while begun.elapsed() < TEST_TIMEOUT {
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes) {
            Ok(0) => return Ok((begun.elapsed(), String::from_utf8_lossy(&answer).into_owned())),
            Ok(count) => answer.extend_from_slice(bytes.get(..count).unwrap_or_default()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                stream.write_all(rest.to_string().as_bytes()).ok();
            }
            Err(_) => return Ok((begun.elapsed(), String::from_utf8_lossy(&answer).into_owned())),
        }
    }
    bail!("the gateway waits for ever: {}", String::from_utf8_lossy(&answer))
}

/// Tried: to keep connections busy with heads and bodies that come byte by byte, so that no silence ends them. Stopped by:
/// limits for the whole head, until a token has come, and for the whole body.
#[test]
fn slow_heads_and_bodies_end() -> Result<()> {
    let testbed = OpenTestbed::start()?;
    let authority = &testbed.authority;
    let without_token = format!("POST /mcp HTTP/1.1\r\nHost: {authority}\r\nX-Slow: ");
    let with_token = format!("POST /mcp HTTP/1.1\r\n{}X-Slow: ", testbed.head());
    let body = format!("POST /mcp HTTP/1.1\r\n{}Content-Length: 100000\r\n\r\n[", testbed.head());
    let slow = std::thread::scope(|scope| {
        // A head must be complete within 5 s, as its token is unknown until then, and a body within 30 s. What ends
        // much sooner was refused for another reason.
        let begun = [(&without_token, 'a', 3_u64..10), (&with_token, 'a', 3..10), (&body, ' ', 25..55)]
            .map(|(request, rest, secs)| (scope.spawn(move || trickle(authority, request, rest)), secs));
        // Meanwhile others are served.
        testbed.assert_untouched()?;
        let ended = begun.map(|(slow, secs)| {
            slow.join().unwrap_or_else(|_| bail!("it broke off")).map(|(took, answer)| (took, answer, secs))
        });
        ended.into_iter().collect::<Result<Vec<_>>>()
    })?;
    for (took, answer, secs) in &slow {
        ensure!(secs.contains(&took.as_secs()), "{took:?}: {answer}");
        ensure!(!answer.contains(" 200 "), "{answer}");
    }
    let body = slow.last().context("no body")?;
    ensure!(body.1.contains("-32600") || body.1.is_empty(), "{body:?}");
    testbed.assert_untouched()
}

/// Tried: JSON that is nested a hundred thousand levels deep, in every place of a message, so that a reader overflows its
/// stack. Stopped by: nothing is read recursively before its depth is known.
#[test]
fn deep_json_is_refused_or_skipped_everywhere() -> Result<()> {
    const DEPTH: usize = 100_000;
    let testbed = OpenTestbed::start()?;
    let pid = testbed.gatehouse.pid()?;
    let array = format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let object = format!("{}1{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH));
    for deep in [&array, &object] {
        for members in [
            format!(r#""name":"write_note","arguments":{deep}"#),
            format!(r#""name":"write_note","arguments":{{"text":{deep}}}"#),
            format!(r#""name":"write_note","arguments":{{"text":"a"}},"inputResponses":{deep}"#),
            format!(r#""name":"write_note","arguments":{{"text":"a"}},"requestState":{deep}"#),
            format!(r#""name":"write_note","arguments":{{"text":"a"}},"more":{deep}"#),
        ] {
            let client = StatelessClient { name: "raw", capabilities: "{}" };
            let answer = client.send(&testbed.gatehouse.endpoint, &testbed.token, "tools/call", &members)?;
            ensure!(answer.body.contains("-32602"), "{}…: {answer:?}", members.get(..60).unwrap_or_default());
        }
        let capabilities = format!(r#"{{"x":{deep}}}"#);
        let client = StatelessClient { name: "raw", capabilities: &capabilities };
        let members = r#""name":"write_note","arguments":{"text":"a"}"#;
        let answer = client.send(&testbed.gatehouse.endpoint, &testbed.token, "tools/call", members)?;
        ensure!(answer.body.contains("-32602"), "capabilities: {answer:?}");
        let authorization = format!("Bearer {}", testbed.token);
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ];
        for body in [
            deep.clone(),
            format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"ping"}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{deep}}}"#),
            format!(r#"[{LIST},{deep}]"#),
        ] {
            let answer = http::post(&testbed.gatehouse.endpoint, &headers, body.as_bytes())?;
            let shown = body.get(..60).unwrap_or_default();
            ensure!(answer.status == 400 || answer.status == 404, "{shown}…: {answer:?}");
        }
    }
    ensure!(testbed.gatehouse.pid()? == pid, "it was started anew");
    testbed.assert_untouched()
}
