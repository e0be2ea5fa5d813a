//! An MCP server for tests: raw JSON-RPC on bytes, so that every change that a gateway makes to a message is
//! visible. It is also the raw upstream of the benchmarks, so its code path of `echo` must stay short. It must
//! never share code with the product that it tests.
//!
//! ```text
//! fixture-server [--http PORT | --sse PORT | --ws PORT] [--lifecycle modern|legacy|both]
//!                [--without CAPABILITY]… [--log FILE] [--fault NAME[=VALUE]]…
//! ```
//!
//! | transport | address |
//! |---|---|
//! | standard streams | without any of the following |
//! | `--http` | Streamable HTTP on `http://127.0.0.1:PORT/mcp` |
//! | `--sse` | HTTP+SSE of 2024-11-05 on `http://127.0.0.1:PORT/sse`, POST is answered with 405; older revisions only |
//! | `--ws` | WebSocket with the subprotocol `mcp` on `ws://127.0.0.1:PORT/mcp`, one message per text frame |
//!
//! Port 0 selects a free one; one line `{"url":"…","pid":…}` is printed when the server is ready. It speaks 2026-07-28
//! (`server/discover`, `_meta` with each request, `subscriptions/listen`) and 2025-11-25 and older
//! (`initialize`, over HTTP sessions and GET for the standing stream), or with `--lifecycle` only one of the
//! two. It declares `tools`, `resources`, `prompts`, `completions` and `logging`; capabilities named by
//! `--without` are neither declared nor implemented.
//!
//! With `--log` each message that it receives is appended as one line, byte for byte; lines that begin with
//! `#` are its own notes: the head of each HTTP request, progress of `slow` calls
//! (`# slow ID started`, `# slow ID cancelled`, `# slow ID finished`), a request whose call was cancelled
//! (`# ask ID cancelled`), and the answer to the request of `asks-at-start` (`# asked at start: JSON`).
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | returns the bytes of its arguments as `structuredContent` |
//! | `odd` | answers [`ODD_RESULT_MEMBERS`]; its definition is unusual too |
//! | `big` | `{"bytes":N}` bytes of text, 1 MiB by default |
//! | `slow` | takes `{"ms":N}`, sends `{"progress":n}` notifications meanwhile, stops when it is cancelled |
//! | `write_note` | stores `{"text":…}`; labelled as not read-only |
//! | `read_note` | returns the note; labelled read-only |
//! | `say` | sends `{"text":…}` as a log message of `{"level":…}`, `info` by default, if the client wants it |
//! | `typed` | has an output schema and answers `{"n":1}` |
//! | `media` | one each of text, image, audio, embedded resource, link to a resource |
//! | `fails` | answers `isError` with a `_meta` |
//! | `ask_form` | requests a form; takes `{"schema":…,"message":…}` |
//! | `ask_url` | requests a visit of `{"url":…}` |
//! | `ask_url_error` | the first time (or `{"times":N}` times) the error -32042, then `signed`; newer revisions: as `ask_url` |
//! | `ask_undeclared` | requests input in the mode `carrier-pigeon` |
//! | `ask_model` | requests that the client's model says hello |
//! | `ask_roots` | requests the client's roots |
//! | `mutate` | with `changes-tools`: from then on [`CHANGED_TOOL`] has another definition; with `adds-tool`: from then on [`LATE_TOOL`] exists |
//!
//! The tools that send requests answer `{"answer":…}` with the client's unchanged answer, or `{"error":…}`. On
//! older revisions they send a request of their own with an id like `"srv-1"`, over HTTP on the stream of the
//! call; an accepted `ask_url` is followed by `notifications/elicitation/complete`. On 2026-07-28 they answer
//! `input_required` with the one request `first`, and accept each `requestState` once.
//!
//! | primitive | available |
//! |---|---|
//! | resources | `fixture://note` (of `write_note`, which notifies subscribers), `fixture://image`, `fixture://big` (2 MiB) |
//! | templates | `fixture://item/{id}` with ids from 1 to 200 |
//! | prompts | `greet` with `name` and optionally `tone`; `plain` |
//! | completions | `tone`: formal, friendly, terse; `id`: 1 to 200, of which at most 100 are returned |
//! | requests of its own | `fixture/echo`, which answers `{"echoed":…}` with its params |
//! | logging | `logging/setLevel`, or on 2026-07-28 the level in `_meta`, without which nothing is logged |
//!
//! | fault | what goes wrong |
//! |---|---|
//! | `slow-start[=MS]` | nothing happens for 2 s (or MS) after the start |
//! | `silent-after-connect` | after the first complete tool list nothing is answered any more |
//! | `dies-mid-call` | a tool call ends the process with code 7 |
//! | `dies-at-start` | a sentence on standard error and exit code 3 |
//! | `exits-on-discover` | `server/discover` ends the process with code 1, as some old servers do |
//! | `foreign-id` | an answer with an unknown id precedes each real one |
//! | `garbage-lines` | lines that are not JSON precede each message (standard streams only) |
//! | `huge-result` | each tool call answers 50 MiB of text |
//! | `many-tools[=N]` | 10,000 (or N) more tools |
//! | `endless-paging` | every page of the tool list has a next one |
//! | `repeated-cursor` | every page of the tool list has the same cursor of the next one |
//! | `notification-flood[=N]` | 10,000 (or N) log messages come before the answer of each tool call |
//! | `loses-session[=N]` | the first tool call (or N of them) finds its HTTP session gone; `always` |
//! | `http-status=NNN` | each HTTP request is answered with this status |
//! | `ignores-sigterm` | neither SIGTERM nor the end of standard input ends the process |
//! | `grandchild-holds-stdout` | a child process keeps standard output open for 10 minutes |
//! | `changes-tools` | there is a tool `mutate` |
//! | `adds-tool` | there is a tool `mutate` |
//! | `adds-prompts` | there is a tool `mutate`: from then on there are the prompt [`LATE_PROMPT`], the resource [`LATE_RESOURCE`] and the template [`LATE_TEMPLATE`], and `plain` has another definition |
//! | `open-templates` | there are the templates of [`OPEN_TEMPLATES`], and any resource can be read |
//! | `folds-names` | there is a tool [`LENIENT_TOOL`], which reads its arguments as lenient parsers do |
//! | `nested-defaults` | there is a tool `order`, which returns its arguments: they have defaults within objects, lists and references |
//! | `folds-uris` | there is the template [`ANY_TEMPLATE`], and file URIs are parsed leniently |
//! | `bad-header` | there is a tool `spoilt`, whose `x-mcp-header` is empty |
//! | `deceives` | there are the tools of [`DECEIVERS`] |
//! | `pages` | the tool list comes in pages of 2 |
//! | `half-open` | after the first complete tool list everything is read and nothing answered; connections stay open |
//! | `status-after=N:NNN` | after N POSTs each is answered with this status (HTTP, SSE) |
//! | `status-times=N:NNN` | the first N POSTs are answered with this status (HTTP, SSE) |
//! | `retry-after` | statuses 429 and 503 of other faults come with `Retry-After: 1` |
//! | `unauthorized=URL` | each HTTP request is answered with 401 and a challenge whose `resource_metadata` is the URL |
//! | `dies-after[=MS]` | the process ends with code 9 by itself 2 s (or MS) after its start |
//! | `lost-stream` | over HTTP the stream of `slow` is interrupted; GET with `Last-Event-ID` returns the rest; on 2026-07-28 the call is lost |
//! | `polled-stream[=N]` | over HTTP with a session the stream of `slow` ends 8 (or N) times after an event with an id and `retry`, each time that it is resumed, before the answer comes |
//! | `ttl[=MS]` | lists of 2026-07-28 may be cached by anybody for a minute (or MS) |
//! | `wrong-output` | `typed` answers with a result that violates its schema |
//! | `no-output` | `typed` answers without `structuredContent` |
//! | `leaks[=TEXT]` | the text (or what is in `FIXTURE_SECRET`) is repeated wherever a server can send text; there is a tool `leak` |
//! | `bombs` | there are tools whose output schemas take for ever to check, or exhaust memory |
//! | `big-pages` | the tool list never ends, and each page has 1 MiB |
//! | `progress-flood[=N]` | 10,000 (or N) progress notifications of 16 KiB come before the answer of each tool call |
//! | `asks-in-calls` | on 2026-07-28 the tools that send requests fail: this server can ask only while it works on a call |
//! | `checks-capabilities` | on 2026-07-28 the tools that send requests are refused (-32021, over HTTP with status 400) unless the call declares the capability |
//! | `generated[=SEED]` | there are the tools, resources and prompts of `tests/src/generated.rs` |
//! | `tasks` | calls of `chore` can, and calls of `long_chore` must run as tasks (on 2026-07-28 if the client declares the extension): for `{"ms":N}`, with `{"ask":true}` until a form is answered, with `{"fail":true}` to an error |
//! | `asks-at-start` | once an older client is ready and has a standing stream, a form is requested |

mod acceptor;
mod bombs;
mod broken_streams;
mod call_signal;
mod calls;
mod completion;
mod engine;
mod http;
mod lenient;
mod message;
mod options;
mod outbound_requests;
mod peers;
mod pipe;
mod prompts;
mod request;
mod resources;
mod results;
mod slow;
mod sse;
mod stdio;
mod tasks;
mod tools;
mod ws;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use engine::Server;
use options::{Fault, Options, Transport};

pub use bombs::{SCHEMAS as BOMBS, VALUE as BOMB_VALUE, schema as bomb};
pub use lenient::LENIENT_TOOL;
pub use prompts::LATE_PROMPT;
pub use resources::{ANY_TEMPLATE, LATE_RESOURCE, LATE_TEMPLATE, OPEN_TEMPLATES};
pub use tools::{CHANGED_DESCRIPTION, CHANGED_TOOL, DECEIVERS, LATE_TOOL, ODD_RESULT_MEMBERS};

/// The revision that has no sessions.
pub const MODERN: &str = "2026-07-28";

/// How long a process that should be gone stays at most, so that a failed test leaves nothing behind for
/// ever.
const HOLD: Duration = Duration::from_mins(10);

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
    if let Some(secret) = options.leaked_secret() {
        eprintln!("fixture-server: started with {secret}");
    }
    if let Some(wait) = options.dies_after() {
        std::thread::Builder::new().spawn(move || {
            std::thread::sleep(wait);
            eprintln!("fixture-server: something broke by itself");
            std::process::exit(9);
        })?;
    }
    if let Some(wait) = options.slow_start() {
        std::thread::sleep(wait);
    }
    let transport = options.transport;
    let server = Arc::new(Server::new(options)?);
    match transport {
        Transport::Stdio => stdio::serve(&server)?,
        Transport::Http(port) => http::serve(server, port)?,
        Transport::Sse(port) => sse::serve(server, port)?,
        Transport::WebSocket(port) => ws::serve(server, port)?,
    }
    if ignores_sigterm {
        std::thread::sleep(HOLD);
    }
    Ok(())
}

/// Installs a handler that ignores the signal; it stays when the runtime is gone.
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
