//! Programs that hold connections to the gateway, to keep its real clients out. Each test says what
//! was tried and what stopped it.
#![allow(missing_docs, reason = "a test binary has no public items")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http;
use gatehouse_tests::lines::PATIENCE;

/// More connections than the gateway takes from anybody.
const FLOOD: usize = 400;

fn authority(endpoint: &str) -> Result<&str> {
    let rest = endpoint.strip_prefix("http://").context("not an http address")?;
    Ok(rest.split('/').next().unwrap_or(rest))
}

/// What a connection without a token sends: nothing, half a head, or a whole request that is refused.
fn beginning(number: usize, authority: &str) -> String {
    match number % 3 {
        0 => String::new(),
        1 => format!("POST /mcp HTTP/1.1\r\nHost: {authority}\r\nX-Slow: "),
        _ => format!("GET /mcp HTTP/1.1\r\nHost: {authority}\r\n\r\n"),
    }
}

/// Holds many connections without a token; what is closed is opened again at once.
struct Flood {
    stop: Arc<AtomicBool>,
    opened: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Flood {
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
        let deadline = Instant::now() + PATIENCE;
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

/// Tried: to hold every connection without a token, with silence, slow heads and refused requests, and to
/// take each one again that is closed. Stopped by: the connection that is silent longest, which makes room
/// for the next; a client shows its token with its first request.
#[test]
fn it_holds_all_connections_without_a_token() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    let token = gatehouse.add_client("real")?;
    let flood = Flood::start(&gatehouse.endpoint)?;
    // Each call comes on a connection of its own. Waiting for the time limits of silent connections would
    // take many times as long.
    let deadline = Instant::now() + PATIENCE;
    for number in 0..60 {
        let answer = http::modern(&gatehouse.endpoint, &token, "tools/list", "")?;
        ensure!(answer.status == 200, "the real client got {answer:?}");
        ensure!(Instant::now() < deadline, "the real client made only {number} calls");
    }
    flood.end()
}

/// Tried: to keep a connection after it was refused. Stopped by: the gateway, which closes it.
#[test]
fn it_stays_after_a_refusal() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let authority = authority(&gatehouse.endpoint)?;
    for (head, status) in [
        (format!("Host: {authority}\r\n"), "401"),
        (format!("Host: {authority}\r\nAuthorization: Bearer wrong\r\n"), "401"),
        ("Host: evil.example\r\n".to_owned(), "403"),
        (format!("Host: {authority}\r\nOrigin: https://evil.example\r\n"), "403"),
    ] {
        let mut stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(format!("GET /mcp HTTP/1.1\r\n{head}\r\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).context("the connection stays open")?;
        ensure!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {text}");
        ensure!(text.to_ascii_lowercase().contains("connection: close"), "{head}: {text}");
    }
    Ok(())
}

/// Tried: to hold every connection with a token, by requests whose body never comes. Stopped by: the share
/// of one client; the others have theirs.
#[test]
fn one_client_holds_all_connections() -> Result<()> {
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
    let deadline = Instant::now() + PATIENCE;
    while refused == 0 {
        ensure!(Instant::now() < deadline, "{} connections were taken", held.len());
        // More than there are places, and then only the answers are waited for.
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
                    refused += 1;
                }
                Err(error) => ensure!(error.kind() == ErrorKind::WouldBlock, "{error}"),
            }
        }
    }
    let answer = http::modern(&gatehouse.endpoint, &real, "tools/list", "")?;
    ensure!(answer.status == 200, "the other client got {answer:?}");
    drop(held);
    let deadline = Instant::now() + PATIENCE;
    while http::modern(&gatehouse.endpoint, &greedy, "tools/list", "")?.status != 200 {
        ensure!(Instant::now() < deadline, "the places were not given back");
    }
    Ok(())
}
