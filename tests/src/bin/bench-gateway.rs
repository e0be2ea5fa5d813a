//! Overhead of the gateway: the same calls to the same raw server, directly over HTTP and through
//! Gatehouse (HTTP in front, standard streams behind) with policy and recording on. Both are measured in
//! one run, alternately, so that the ratio is valid on a machine whose speed drifts.
//!
//! `cargo xtask bench gateway` builds everything with optimisation and runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::Value;

const WARM_UP: usize = 500;
const CALLS: usize = 4_000;
const TURNS: usize = 5;
const IN_FLIGHT: usize = 16;
const THROUGHPUT: Duration = Duration::from_secs(4);

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        None => parent(),
        Some("latency") => latency(),
        Some("throughput") => throughput(),
        Some("start") => start(),
        Some("streams") => streams(),
        Some(other) => bail!("there is no bench {other}"),
    }
}

/// Runs each part in a separate process; the latency part and its child processes on one CPU.
fn parent() -> Result<()> {
    let myself = std::env::current_exe()?;
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0"]).arg(&myself).arg("latency");
    for mut part in [
        pinned,
        part_command(&myself, "throughput"),
        part_command(&myself, "streams"),
        part_command(&myself, "start"),
    ] {
        ensure!(part.status()?.success(), "a part of the bench failed");
    }
    Ok(())
}

fn part_command(program: &std::path::Path, part: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(part);
    command
}

/// One keep-alive connection that sends tool calls and reads whole answers.
struct Caller {
    stream: BufReader<TcpStream>,
    head: String,
    answer: Vec<u8>,
}

impl Caller {
    fn new(endpoint: &str, token: &str) -> Result<Self> {
        let rest = endpoint.strip_prefix("http://").context("not an http address")?;
        let (authority, path) = rest.split_once('/').context("no path")?;
        let stream = TcpStream::connect(authority)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\n"
        );
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), head, answer: Vec::new() })
    }

    fn request(&self, method: &str, name: &str, params: &str) -> Vec<u8> {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let comma = if params.is_empty() { "" } else { "," };
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}{meta}}}}}"#);
        let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
        format!("{}Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}", self.head, body.len())
            .into_bytes()
    }

    fn call(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.get_mut().write_all(request)?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        ensure!(line.starts_with("HTTP/1.1 200"), "the answer was {line}");
        let mut length = None;
        let mut chunked = false;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
            chunked |= header == "transfer-encoding: chunked";
        }
        self.answer.clear();
        match length {
            Some(length) => {
                self.answer.resize(length, 0);
                self.stream.read_exact(&mut self.answer)?;
            }
            None if chunked => loop {
                line.clear();
                self.stream.read_line(&mut line)?;
                let size = usize::from_str_radix(line.trim(), 16)?;
                let at = self.answer.len();
                self.answer.resize(at + size + 2, 0);
                self.stream.read_exact(&mut self.answer[at..])?;
                self.answer.truncate(at + size);
                if size == 0 {
                    break;
                }
            },
            None => bail!("neither a length nor chunks"),
        }
        Ok(&self.answer)
    }
}

const ECHO: &str = r#""name":"echo","arguments":{"path":"/home/ana/notes/todo.md","content":"- buy milk"}"#;

fn echo(caller: &Caller) -> Vec<u8> {
    caller.request("tools/call", "echo", ECHO)
}

/// The raw server over HTTP, for direct calls.
fn direct_server() -> Result<(ChildProcess, String)> {
    let mut command = Command::new(paths::program("fixture-server")?);
    command.args(["--http", "0"]);
    let mut server = ChildProcess::start("fixture-server", &mut command)?;
    let ready: Value = serde_json::from_str(&server.next_line()?)?;
    let url = ready["url"].as_str().context("no url in the ready line")?.to_owned();
    Ok((server, url))
}

/// A Gatehouse with the same server behind standard streams, with all of its tools allowed.
fn gatehouse_with(more: &[&str]) -> Result<(Gatehouse, String)> {
    gatehouse_with_options(&[], more)
}

/// The same with options for adding the server.
fn gatehouse_with_options(options: &[&str], more: &[&str]) -> Result<(Gatehouse, String)> {
    let gatehouse = Gatehouse::start()?;
    let server = paths::program("fixture-server")?;
    let mut words = vec!["servers", "add", "raw"];
    words.extend_from_slice(options);
    words.extend_from_slice(&["--", server.to_str().context("path")?]);
    words.extend_from_slice(more);
    gatehouse.ask(&words)?;
    gatehouse.await_status("raw", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("bench")?;
    Ok((gatehouse, token))
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

fn measure_calls(caller: &mut Caller, request: &[u8], times: usize) -> Result<Vec<f64>> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let begin = Instant::now();
        caller.call(request)?;
        took.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}

fn latency() -> Result<()> {
    let (_server, url) = direct_server()?;
    let (gatehouse, token) = gatehouse_with(&[])?;
    let mut near = Caller::new(&url, "none")?;
    let mut far = Caller::new(&gatehouse.endpoint, &token)?;
    let (near_request, far_request) = (echo(&near), echo(&far));
    measure_calls(&mut near, &near_request, WARM_UP)?;
    measure_calls(&mut far, &far_request, WARM_UP)?;
    let (mut directly, mut through, mut ratio) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let a = median(measure_calls(&mut near, &near_request, CALLS)?);
        let b = median(measure_calls(&mut far, &far_request, CALLS)?);
        directly.push(a);
        through.push(b);
        ratio.push(b / a);
    }
    let (a, b) = (median(directly), median(through));
    println!("latency on one CPU, one call at a time, p50 of {CALLS} calls, median of {TURNS} turns");
    println!("  direct {a:.1} us   through {b:.1} us   added {:.1} us   ratio {:.2}", b - a, median(ratio));

    let mebibyte = format!(r#""name":"big","arguments":{{"bytes":{}}}"#, 1 << 20);
    let (near_request, far_request) =
        (near.request("tools/call", "big", &mebibyte), far.request("tools/call", "big", &mebibyte));
    let a = median(measure_calls(&mut near, &near_request, 50)?) / 1e3;
    let b = median(measure_calls(&mut far, &far_request, 50)?) / 1e3;
    println!("  1 MiB result: direct {a:.2} ms   through {b:.2} ms");
    Ok(())
}

/// Calls per second over some time, with a number of connections that each wait for their answer.
fn flood(endpoint: &str, token: &str) -> Result<f64> {
    let end = Instant::now() + THROUGHPUT;
    let begin = Instant::now();
    let threads: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (endpoint, token) = (endpoint.to_owned(), token.to_owned());
            std::thread::spawn(move || -> Result<u64> {
                let mut caller = Caller::new(&endpoint, &token)?;
                let request = echo(&caller);
                let mut calls = 0;
                while Instant::now() < end {
                    caller.call(&request)?;
                    calls += 1;
                }
                Ok(calls)
            })
        })
        .collect();
    let mut calls = 0;
    for thread in threads {
        calls += thread.join().map_err(|_| anyhow::anyhow!("a caller panicked"))??;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 calls")]
    Ok(calls as f64 / begin.elapsed().as_secs_f64())
}

/// CPU time that a process has used, in microseconds.
fn cpu_us(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after = stat.rsplit_once(") ").context("an odd stat line")?.1;
    let fields: Vec<&str> = after.split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    Ok((ticks(11) + ticks(12)) * 10_000.0)
}

fn memory_mib(pid: u32, field: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with(field)).context("no such field")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kib / 1024.0)
}

fn throughput() -> Result<()> {
    let (_server, url) = direct_server()?;
    let (gatehouse, token) = gatehouse_with(&[])?;
    let pid = gatehouse.pid()?;
    println!("throughput, {IN_FLIGHT} in flight, not pinned");
    println!("  memory idle {:.1} MiB", memory_mib(pid, "VmRSS")?);
    let (mut directly, mut through, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        directly.push(flood(&url, "none")?);
        let before = cpu_us(pid)?;
        let rate = flood(&gatehouse.endpoint, &token)?;
        cpu.push((cpu_us(pid)? - before) / (rate * THROUGHPUT.as_secs_f64()));
        through.push(rate);
    }
    let (a, b) = (median(directly), median(through));
    println!("  direct {a:.0} calls/s   through {b:.0} calls/s   ratio {:.2}", b / a);
    println!("  gateway CPU {:.1} us a call", median(cpu));
    println!("  memory peak {:.1} MiB", memory_mib(pid, "VmHWM")?);
    Ok(())
}

/// Compares socket pairs and pipes as standard streams, alternately.
fn streams() -> Result<()> {
    let (sockets, sockets_token) = gatehouse_with(&[])?;
    let (pipes, pipes_token) = gatehouse_with_options(&["--pipes"], &[])?;
    let mebibyte = format!(r#""name":"big","arguments":{{"bytes":{}}}"#, 1 << 20);
    let mut found = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for _ in 0..TURNS {
        let both = [(&sockets, &sockets_token), (&pipes, &pipes_token)];
        for ((gatehouse, token), (rates, times)) in both.into_iter().zip(&mut found) {
            rates.push(flood(&gatehouse.endpoint, token)?);
            // A new connection each time: one that is idle for long is closed.
            let mut caller = Caller::new(&gatehouse.endpoint, token)?;
            let large = caller.request("tools/call", "big", &mebibyte);
            times.push(median(measure_calls(&mut caller, &large, 100)?) / 1e3);
        }
    }
    println!("standard streams, {IN_FLIGHT} in flight, median of {TURNS} turns");
    for (name, (rates, times)) in ["socket pairs", "pipes"].into_iter().zip(found) {
        println!("  {name}: {:.0} calls/s   1 MiB result {:.2} ms", median(rates), median(times));
    }
    Ok(())
}

fn start() -> Result<()> {
    let (mut gatehouse, token) = gatehouse_with(&["--fault", "many-tools"])?;
    let mut caller = Caller::new(&gatehouse.endpoint, &token)?;
    let mut took = Vec::new();
    for _ in 0..10 {
        let begin = Instant::now();
        let mut cursor = None;
        loop {
            let params = cursor.take().map_or_else(String::new, |cursor| format!(r#""cursor":{cursor}"#));
            let request = caller.request("tools/list", "", &params);
            let page: Value = serde_json::from_slice(caller.call(&request)?)?;
            match page["result"].get("nextCursor") {
                Some(next) => cursor = Some(next.to_string()),
                None => break,
            }
        }
        took.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    println!("list of 10,000 tools: {:.0} ms, parsing by the client included", median(took));
    gatehouse.ask(&["servers", "remove", "raw"])?;

    let server = paths::program("fixture-server")?;
    let server = server.to_str().context("path")?;
    for number in 0..20 {
        gatehouse.ask(&["servers", "add", &format!("raw{number}"), "--", server])?;
    }
    let (mut ready, mut all) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        gatehouse.stop()?;
        let begin = Instant::now();
        gatehouse.launch()?;
        ready.push(begin.elapsed().as_secs_f64() * 1e3);
        while gatehouse.ask(&["status"])?["running"].as_u64() < Some(20) {
            ensure!(begin.elapsed() < Duration::from_secs(60), "the servers never got ready");
        }
        all.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    println!(
        "start: ready line after {:.0} ms, 20 servers connected after {:.0} ms (vault opened on the way)",
        median(ready),
        median(all)
    );
    Ok(())
}
