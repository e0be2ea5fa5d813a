//! An MCP server made to be tested against: raw JSON-RPC on bytes, so that nothing of it can hide what
//! a gateway does to a message. It is also the raw upstream of the benches, so its way of an `echo`
//! must stay short. It must never share code with the product that it tests.
//!
//! ```text
//! fixture-server [--http PORT] [--lifecycle modern|legacy|both] [--log FILE] [--fault NAME[=VALUE]]…
//! ```
//!
//! Over standard streams, or with `--http` on `http://127.0.0.1:PORT/mcp` (0 picks a port); then it
//! prints one line `{"url":"…","pid":…}` when it is ready. It speaks 2026-07-28 (`server/discover`,
//! `_meta` with each request, `subscriptions/listen`) and 2025-11-25 and older (`initialize`, sessions over
//! HTTP), or with `--lifecycle` only one of the two.
//!
//! With `--log` each message that it gets is appended as one line, byte for byte; lines that begin with
//! `#` are its own notes: the head of each HTTP request, and what became of `slow` calls
//! (`# slow ID started`, `# slow ID cancelled`, `# slow ID finished`).
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | gives the bytes of its arguments back as `structuredContent` |
//! | `odd` | answers [`ODD_RESULT_MEMBERS`]; its definition is as odd |
//! | `big` | `{"bytes":N}` bytes of text, 1 MiB by default |
//! | `slow` | takes `{"ms":N}`, sends `{"progress":n}` notifications meanwhile, stops when it is cancelled |
//! | `write_note` | keeps `{"text":…}`; labelled as not read-only |
//! | `read_note` | gives the note back; labelled read-only |
//! | `mutate` | only with `changes-tools`: from then on [`CHANGED_TOOL`] is defined otherwise |
//!
//! | fault | what goes wrong |
//! |---|---|
//! | `slow-start[=MS]` | nothing happens for 2 s (or MS) after the start |
//! | `silent-after-connect` | after the first whole tool list nothing is answered any more |
//! | `dies-mid-call` | a tool call ends the process with code 7 |
//! | `dies-at-start` | a sentence on standard error and exit code 3 |
//! | `exits-on-discover` | `server/discover` ends the process with code 1, as some old servers do |
//! | `foreign-id` | an answer that nobody asked for comes before each real one |
//! | `garbage-lines` | what is no JSON comes before each message (standard streams only) |
//! | `huge-result` | each tool call answers 50 MiB of text |
//! | `many-tools[=N]` | 10,000 (or N) more tools |
//! | `endless-paging` | every page of the tool list has a next one |
//! | `repeated-cursor` | every page of the tool list names the same next one |
//! | `notification-flood[=N]` | 10,000 (or N) log messages come before the answer of each tool call |
//! | `loses-session[=N]` | the first tool call (or N of them) finds its HTTP session gone; `always` |
//! | `http-status=NNN` | each HTTP request is answered with this status |
//! | `ignores-sigterm` | neither SIGTERM nor the end of standard input ends the process |
//! | `grandchild-holds-stdout` | a child of its own keeps standard output open for 10 minutes |
//! | `changes-tools` | there is a tool `mutate` |
//! | `pages` | the tool list comes in pages of 2 |

mod engine;
mod http;
mod message;
mod options;
mod request;
mod slow;
mod stdio;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use engine::Server;
use options::{Fault, Options};

pub use tools::{CHANGED_DESCRIPTION, CHANGED_TOOL, ODD_RESULT_MEMBERS};

/// The revision that has no sessions.
pub const MODERN: &str = "2026-07-28";

/// How long a process that should be gone stays by itself, so that a failed test leaves nothing for ever.
const HOLD: Duration = Duration::from_secs(600);

/// Runs the server with the arguments of this process.
#[must_use]
pub fn run() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(words) => {
            eprintln!("fixture-server: {words}");
            return ExitCode::from(2);
        }
    };
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fixture-server: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: Options) -> anyhow::Result<()> {
    if options.hold {
        std::thread::sleep(HOLD);
        return Ok(());
    }
    if options.has(&Fault::DiesAtStart) {
        eprintln!("fixture-server: cannot start, a setting is missing");
        std::process::exit(3);
    }
    let ignores_sigterm = options.has(&Fault::IgnoresSigterm);
    if ignores_sigterm {
        ignore_sigterm()?;
    }
    if options.has(&Fault::GrandchildHoldsStdout) {
        stdio::leave_grandchild(&options)?;
    }
    if let Some(wait) = options.slow_start() {
        std::thread::sleep(wait);
    }
    let port = options.http;
    let server = Arc::new(Server::new(options)?);
    match port {
        Some(port) => http::serve(server, port)?,
        None => stdio::serve(&server)?,
    }
    if ignores_sigterm {
        std::thread::sleep(HOLD);
    }
    Ok(())
}

/// Takes the signal and does nothing with it; the handler stays when the runtime is gone.
#[cfg(unix)]
fn ignore_sigterm() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).map(drop)
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn ignore_sigterm() -> anyhow::Result<()> {
    Ok(())
}
