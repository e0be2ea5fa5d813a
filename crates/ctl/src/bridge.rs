//! `gatehousectl bridge`: a client on standard input and output, the gateway over HTTP.
//!
//! The bridge belongs to the client that started it: the gateway shows that program, not this one, in approval
//! requests (`gateway/src/http/peer_process`). It makes no decisions and changes no message. Each message of the
//! client becomes one HTTP request; every answer and everything that the gateway says by itself becomes a line.
//!
//! It keeps no state that Gatehouse doesn't have too, except what it needs to open a session again.

mod app_start;
mod core;
mod events;
mod exchange;
mod http;
mod in_flight;
mod link;
mod listen;
mod log;
mod message;
mod session;
mod stateless;
mod stdio;
pub(crate) mod tokens;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::UserError;
use tokio::io::BufReader;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::app_start::AppStart;
use self::core::Bridge;
use self::in_flight::{InFlightRequest, Refusal};
use self::link::LinkKeeper;
use self::log::Log;
use self::message::{Family, INVALID_REQUEST, StdioMessage, StdioRequest, cancelled_id, error, parse};
use self::stdio::{Line, MAX_LINE_BYTES, Output, OutputEnd, StdinReader, write_lines};
use self::tokens::BridgeTokenSource;

/// How long answers are waited for after the client has closed standard input.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);
/// Notifications and answers of the client that may wait to be sent.
const MESSAGE_CAPACITY: usize = 256;
/// How long a message that is no request may wait for Gatehouse to run.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(30);
/// How long the gateway may take to know a request that is to be cancelled.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// How a bridge is to run.
pub(crate) struct BridgeOptions {
    pub(crate) data_dir: PathBuf,
    pub(crate) tokens: BridgeTokenSource,
    /// Name or id of a profile that narrows what the client sees.
    pub(crate) profile: Option<String>,
    /// Whether the desktop app is started if no Gatehouse runs.
    pub(crate) starts_app: bool,
    /// Whether the log is written to standard error.
    pub(crate) is_verbose: bool,
}

/// Runs a bridge until the client closes one of its ends, or `stopped` is done.
///
/// # Errors
/// When there is no such profile. Then nothing is written to standard output.
pub(crate) async fn run(options: BridgeOptions, stopped: impl Future<Output = ()>) -> Result<(), UserError> {
    let log = Log::new(options.is_verbose);
    let app = if options.starts_app { AppStart::beside_this_program() } else { AppStart::never() };
    let (keeper, link) = LinkKeeper::new(options.data_dir, options.tokens, options.profile, app, log);
    let (output, lines) = Output::new();
    let (requests, background) = (TaskTracker::new(), TaskTracker::new());
    let bridge = Arc::new(Bridge::new(link, output, log, background.clone()));
    let output_end = OutputEnd::default();
    let writer = background.spawn(write_lines(tokio::io::stdout(), lines, output_end.clone()));
    let bridge_ends = CancellationToken::new();
    let (no_profile, has_no_profile) = oneshot::channel();
    background.spawn(bridge_ends.clone().run_until_cancelled_owned(async move {
        let mut keeper = keeper;
        no_profile.send(keeper.run().await).unwrap_or(());
        // Requests keep waiting for the link, instead of being answered that the bridge is ending.
        std::future::pending::<()>().await;
    }));
    let listener = Arc::clone(&bridge);
    background
        .spawn(bridge_ends.clone().run_until_cancelled_owned(async move { listener.keep_listening().await }));
    let (messages, queue) = mpsc::channel(MESSAGE_CAPACITY);
    let poster = Arc::clone(&bridge);
    background.spawn(bridge_ends.clone().run_until_cancelled_owned(post_messages(poster, queue)));
    let input = Input { bridge: Arc::clone(&bridge), requests: requests.clone(), messages };
    let serving = async {
        input.serve(StdinReader::new(BufReader::new(tokio::io::stdin()))).await;
        requests.close();
        if tokio::time::timeout(LAST_ANSWERS, requests.wait()).await.is_err() {
            log.line("some requests were given up");
        }
    };
    tokio::select! {
        () = serving => {}
        () = output_end.closed.cancelled() => log.line("standard output was closed"),
        () = stopped => log.line("stopped"),
        Ok(error) = has_no_profile => return Err(error),
    }
    bridge.end().await;
    bridge_ends.cancel();
    output_end.finish.cancel();
    if tokio::time::timeout(LAST_LINES, writer).await.is_err() {
        log.line("the last lines were not written");
    }
    Ok(())
}

/// Reads what the client says.
struct Input {
    bridge: Arc<Bridge>,
    requests: TaskTracker,
    /// Notifications and answers, which are sent one after another.
    messages: mpsc::Sender<QueuedMessage>,
}

/// A message that is no request.
enum QueuedMessage {
    Notification(Bytes),
    /// An answer to a request of the gateway with this id.
    Response {
        id: Box<str>,
        line: Bytes,
    },
}

impl Input {
    async fn serve<R: tokio::io::AsyncBufRead + Unpin>(&self, mut lines: StdinReader<R>) {
        loop {
            match lines.next().await {
                Ok(Some(Line::Message(line))) => self.handle(line).await,
                Ok(Some(Line::TooLong)) => {
                    let size = MAX_LINE_BYTES / 1024 / 1024;
                    let why = format!("The message is larger than {size} MiB.");
                    self.bridge.out.send(error("null", INVALID_REQUEST, &why)).await;
                }
                Ok(None) => return,
                Err(cause) => {
                    self.bridge.log.line(&format!("standard input can't be read: {cause}"));
                    return;
                }
            }
        }
    }

    async fn handle(&self, line: Bytes) {
        match parse(&line) {
            Ok(StdioMessage::Request { id, method, params }) => {
                match StdioRequest::new(line.clone(), id, &method, params) {
                    Ok(request) => self.start(request).await,
                    Err(answer) => self.bridge.out.send(answer).await,
                }
            }
            Ok(StdioMessage::Notification { method, params }) if method == "notifications/cancelled" => {
                self.cancel(cancelled_id(params), line.clone());
            }
            Ok(StdioMessage::Notification { method, .. }) => {
                if method == "notifications/initialized" {
                    self.bridge.sessions.mark_initialized(line.clone());
                }
                // Without a session nobody can be told.
                if self.bridge.sessions.initialize().is_some() {
                    self.queue(QueuedMessage::Notification(line.clone())).await;
                }
            }
            Ok(StdioMessage::Response { id, .. }) => {
                self.queue(QueuedMessage::Response { id: id.into(), line: line.clone() }).await;
            }
            Err(answer) => self.bridge.out.send(answer).await,
        }
    }

    async fn start(&self, request: StdioRequest) {
        let refused = match self.bridge.in_flight.register(&request.id, request.family.clone()) {
            Ok(registration) => {
                let request = Arc::new(request);
                if &*request.method == "initialize" {
                    // Before the next line is read, which may belong to the session already.
                    self.bridge.sessions.begin(&request);
                }
                self.requests.spawn(exchange::serve(Arc::clone(&self.bridge), request, registration));
                return;
            }
            Err(Refusal::IdInUse) => "This id is in use by a request in flight.",
            Err(Refusal::TooMany) => "Too many requests are in flight.",
        };
        self.bridge.out.send(error(&request.id, INVALID_REQUEST, refused)).await;
    }

    /// Cancels a request: with a session the gateway is told, without one the connection is closed.
    fn cancel(&self, id: Option<&str>, line: Bytes) {
        let Some(request) = id.and_then(|id| self.bridge.in_flight.get(id)) else { return };
        request.mark_cancelled();
        if request.family != Family::Stateful || !request.is_sent() {
            request.dropped.cancel();
            return;
        }
        let bridge = Arc::clone(&self.bridge);
        self.requests.spawn(async move {
            until_accepted(&request).await;
            bridge.post_message(line).await;
        });
    }

    async fn queue(&self, message: QueuedMessage) {
        if self.messages.send(message).await.is_err() {
            self.bridge.log.line("a message was dropped: the bridge is ending");
        }
    }
}

/// Waits until the gateway knows a request. A notification takes another connection and could overtake it.
async fn until_accepted(request: &InFlightRequest) {
    tokio::time::timeout(ACCEPT_TIMEOUT, request.accepted.cancelled()).await.unwrap_or(());
}

async fn post_messages(bridge: Arc<Bridge>, mut queue: mpsc::Receiver<QueuedMessage>) {
    while let Some(message) = queue.recv().await {
        let line = match message {
            QueuedMessage::Notification(line) => line,
            QueuedMessage::Response { id, line } => {
                // An answer to a request of a session that has ended must not answer one of the present session.
                if !bridge.sessions.close_server_request(&id) {
                    bridge.log.line("an answer was dropped: nobody waits for it");
                    continue;
                }
                line
            }
        };
        if tokio::time::timeout(MESSAGE_PATIENCE, bridge.post_message(line)).await.is_err() {
            bridge.log.line("a message was dropped: Gatehouse isn't running");
        }
    }
}
