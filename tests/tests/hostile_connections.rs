//! Programs that hold connections to the gateway, or make it keep ever more data, to keep real clients
//! out. Each test states what was tried and what stopped it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http;

/// More connections than the gateway accepts.
const FLOOD: usize = 400;

fn authority(endpoint: &str) -> Result<&str> {
    let rest = endpoint.strip_prefix("http://").context("not an http address")?;
    Ok(rest.split('/').next().unwrap_or(rest))
}

/// What a connection without a token sends: nothing, half a request head, or a whole request that is
/// refused.
fn beginning(number: usize, authority: &str) -> String {
    match number % 3 {
        0 => String::new(),
        1 => format!("POST /mcp HTTP/1.1\r\nHost: {authority}\r\nX-Slow: "),
        _ => format!("GET /mcp HTTP/1.1\r\nHost: {authority}\r\n\r\n"),
    }
}

/// Holds many connections without a token; closed ones are opened again at once.
struct ConnectionFlood {
    stop: Arc<AtomicBool>,
    opened: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl ConnectionFlood {
    fn start(endpoint: &str) -> Result<Self> {
        let authority = authority(endpoint)?.to_owned();
        let (stop, opened) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&opened));
        let thread = std::thread::spawn(move || {
            let open = |number: usize| -> std::io::Result<TcpStream> {
                let mut stream = TcpStream::connect(&authority)?;
                stream.write_all(beginning(number, &authority).as_bytes())?;
                stream.set_nonblocking(true)?;
                count.fetch_add(1, Ordering::SeqCst);
                Ok(stream)
            };
            let mut held: Vec<Option<TcpStream>> = (0..FLOOD).map(|_| None).collect();
            while !stopped.load(Ordering::SeqCst) {
                for (number, slot) in held.iter_mut().enumerate() {
                    let mut bytes = [0; 512];
                    let ended = match slot {
                        None => true,
                        Some(stream) => match stream.read(&mut bytes) {
                            Ok(read) => read == 0,
                            Err(error) => error.kind() != ErrorKind::WouldBlock,
                        },
                    };
                    if ended {
                        *slot = open(number).ok();
                    }
                }
            }
        });
        let flood = Self { stop, opened, thread };
        let deadline = Instant::now() + TEST_TIMEOUT;
        while flood.opened.load(Ordering::SeqCst) < FLOOD {
            ensure!(Instant::now() < deadline, "the flood did not begin");
            std::thread::yield_now();
        }
        Ok(flood)
    }

    fn end(self) -> Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().map_err(|_| anyhow::anyhow!("the flood broke off"))
    }
}

/// Tried: to hold every connection without a token, with silence, slow heads and refused requests, and
/// to reopen each one that is closed. Stopped by: the connection that was silent longest is closed for
/// the next one; a client sends its token with its first request.
#[test]
fn evicts_silent_connections_without_token() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    let token = gatehouse.add_client("real")?;
    let flood = ConnectionFlood::start(&gatehouse.endpoint)?;
    // Each call uses a new connection. Waiting for the time limits of silent connections would take many
    // times as long.
    let deadline = Instant::now() + TEST_TIMEOUT;
    for number in 0..60 {
        let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/list", "")?;
        ensure!(answer.status == 200, "the real client got {answer:?}");
        ensure!(Instant::now() < deadline, "the real client made only {number} calls");
    }
    flood.end()
}

/// Tried: to keep a connection after it was refused. Stopped by: the gateway closes it.
#[test]
fn closes_connection_after_rejection() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let authority = authority(&gatehouse.endpoint)?;
    for (head, status) in [
        (format!("Host: {authority}\r\n"), "401"),
        (format!("Host: {authority}\r\nAuthorization: Bearer wrong\r\n"), "401"),
        ("Host: evil.example\r\n".to_owned(), "403"),
        (format!("Host: {authority}\r\nOrigin: https://evil.example\r\n"), "403"),
    ] {
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        stream.write_all(format!("GET /mcp HTTP/1.1\r\n{head}\r\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).context("the connection stays open")?;
        ensure!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {text}");
        ensure!(text.to_ascii_lowercase().contains("connection: close"), "{head}: {text}");
    }
    Ok(())
}

/// Tried: to hold every connection with a token, by requests whose body never arrives. Stopped by: the
/// limit for one client; the other clients have their own.
#[test]
fn limits_connections_of_one_client() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    let (greedy, real) = (gatehouse.add_client("greedy")?, gatehouse.add_client("real")?);
    let authority = authority(&gatehouse.endpoint)?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {greedy}\r\n\
         Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    let mut held = Vec::new();
    let mut refused = 0;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while refused == 0 {
        ensure!(Instant::now() < deadline, "{} connections were taken", held.len());
        // More than the limit; from then on only the answers are awaited.
        if held.len() < FLOOD {
            let mut stream = TcpStream::connect(authority)?;
            stream.write_all(head.as_bytes())?;
            stream.set_nonblocking(true)?;
            held.push(stream);
        }
        for stream in &mut held {
            let mut bytes = [0; 512];
            match stream.read(&mut bytes) {
                Ok(count) => {
                    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    ensure!(text.is_empty() || text.starts_with("HTTP/1.1 429 "), "{text}");
                    // A connection that ends without an answer was not refused for its client.
                    refused += usize::from(!text.is_empty());
                }
                Err(error) => ensure!(error.kind() == ErrorKind::WouldBlock, "{error}"),
            }
        }
    }
    let answer = http::stateless_request(&gatehouse.endpoint, &real, "tools/list", "")?;
    ensure!(answer.status == 200, "the other client got {answer:?}");
    drop(held);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while http::stateless_request(&gatehouse.endpoint, &greedy, "tools/list", "")?.status != 200 {
        ensure!(Instant::now() < deadline, "the places were not given back");
    }
    Ok(())
}

/// Bytes of one result: the replay buffer of one client (64 MiB) has room for five, not for six.
const LARGE: usize = 12 * 1024 * 1024;

/// A stream that was read to its end, and can be resumed for a while.
struct Left {
    session: String,
    first_event: String,
}

/// A call with a result of this many bytes.
fn big(bytes: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"big","arguments":{{"bytes":{bytes}}}}}}}"#
    )
}

/// Sends a request of a client that accepts only event streams, with further headers, and reads the
/// whole answer.
fn send(
    gatehouse: &Gatehouse,
    token: &str,
    method: &str,
    body: &str,
    more: &[(&str, &str)],
) -> Result<http::RawHttpResponse> {
    let authorization = format!("Bearer {token}");
    let mut headers = vec![
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "text/event-stream"),
    ];
    headers.extend_from_slice(more);
    http::send(method, &gatehouse.endpoint, &headers, body.as_bytes())
}

/// Opens a session.
fn open(gatehouse: &Gatehouse, token: &str) -> Result<String> {
    let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;
    let answer = send(gatehouse, token, "POST", body, &[])?;
    Ok(answer.header("mcp-session-id").context("no session")?.to_owned())
}

/// Calls in a new session and leaves the stream behind.
fn leave(gatehouse: &Gatehouse, token: &str, bytes: usize) -> Result<Left> {
    let session = open(gatehouse, token)?;
    let answer = send(gatehouse, token, "POST", &big(bytes), &[("Mcp-Session-Id", &*session)])?;
    ensure!(answer.status == 200 && answer.body.len() > bytes, "{}", answer.head);
    let first_event =
        answer.body.lines().find_map(|line| line.strip_prefix("id: ")).context("no event id")?;
    Ok(Left { session, first_event: first_event.to_owned() })
}

/// Resumes a stream: reads everything and returns the status.
fn resume(gatehouse: &Gatehouse, token: &str, left: &Left) -> Result<u16> {
    let more = [("Mcp-Session-Id", &*left.session), ("Last-Event-ID", &*left.first_event)];
    let answer = send(gatehouse, token, "GET", "", &more)?;
    let is_gone = answer.status == 400 && answer.body.contains("not kept any more");
    ensure!(answer.status == 200 || is_gone, "{}", answer.head);
    Ok(answer.status)
}

/// Starts a call and reads only the status of its answer.
fn begin(gatehouse: &Gatehouse, token: &str) -> Result<TcpStream> {
    let (authority, session, body) = (authority(&gatehouse.endpoint)?, open(gatehouse, token)?, big(LARGE));
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
         Mcp-Session-Id: {session}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    ensure!(status == *b"HTTP/1.1 200", "{}", String::from_utf8_lossy(&status));
    Ok(stream)
}

/// Tried: to have ever more kept, by a large result in each of many sessions, each within the limit of
/// one session. Stopped by: one limit for all sessions of a client. Its oldest streams are dropped as if
/// they had expired; a stream that is being read is delivered whole, and those of other clients stay.
#[test]
fn one_client_leaves_large_results_in_many_sessions() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let (greedy, real) = (gatehouse.add_client("greedy")?, gatehouse.add_client("real")?);
    let theirs = leave(&gatehouse, &real, 1024)?;
    let mut unread = begin(&gatehouse, &greedy)?;
    let left: Vec<Left> = (0..10).map(|_| leave(&gatehouse, &greedy, LARGE)).collect::<Result<_>>()?;
    let resumed: Vec<u16> =
        left.iter().map(|left| resume(&gatehouse, &greedy, left)).collect::<Result<_>>()?;
    ensure!(
        resumed == [vec![400_u16; 5], vec![200; 5]].concat(),
        "not the newest five are kept: {resumed:?}"
    );
    ensure!(resume(&gatehouse, &real, &theirs)? == 200, "what another client left is gone");
    let answer =
        http::stateless_request(&gatehouse.endpoint, &real, "tools/call", r#""name":"echo","arguments":{}"#)?;
    ensure!(answer.status == 200, "the other client got {answer:?}");

    // The end of a session frees its room.
    for left in &left[6..] {
        let ended = send(&gatehouse, &greedy, "DELETE", "", &[("Mcp-Session-Id", &*left.session)])?;
        ensure!(ended.status == 204, "{ended:?}");
    }
    for _ in 6..10 {
        leave(&gatehouse, &greedy, LARGE)?;
    }
    ensure!(resume(&gatehouse, &greedy, &left[5])? == 200, "sessions that ended still count");

    let mut rest = Vec::new();
    unread.read_to_end(&mut rest)?;
    let came = rest.iter().filter(|byte| **byte == b'x').count();
    ensure!(came >= LARGE, "{came} bytes of a result came that somebody still read");
    Ok(())
}
