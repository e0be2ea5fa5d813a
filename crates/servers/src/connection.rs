//! One live connection to one upstream server: handshake, raw requests, and how it ended.
//!
//! Each connection is shared by two users. rmcp drives the lifecycle and the version negotiation;
//! Gatehouse's own requests bypass rmcp as raw bytes, with ids of their own, and the router answers
//! the server's requests. Nothing here retries a request, decides on a permission, or reserialises
//! params and results.

mod calls;
pub(crate) mod close;
mod envelope;
pub(crate) mod error;
pub(crate) mod foreign;
pub(crate) mod http;
mod lifecycle;
mod limit;
mod line;
mod listen;
pub(crate) mod redact;
mod references;
mod router;
mod sse;
mod stdio;
mod wire;
mod ws;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_auth::TokenSource;
use gatehouse_model::server::{LogLevel, LogLine};
use gatehouse_model::status::ServerInfo;
use gatehouse_model::{Clock, ServerConfig, Transport};
use gatehouse_store::SecretStore;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use self::close::{CloseCause, CloseReason};
pub(crate) use self::error::{ConnectError, RequestError};
pub(crate) use self::limit::CallLimit;
use self::redact::Redactor;
use crate::asks::{Fallback, Responder};
use crate::environment::UserEnvironment;
use crate::environment::mirrors::{Candidates, Mirrors};
use crate::guard::ChildRun;
use crate::outgoing::{OutgoingParams, ProgressSink, Reply};
use crate::schema_check::SchemaChecker;

/// External dependencies of connections; one instance per `ServerManager`.
pub(crate) struct ConnectDeps {
    /// Resolves `${secret:NAME}`.
    pub(crate) secrets: Arc<dyn SecretStore>,
    /// Provides bearer tokens.
    pub(crate) tokens: Arc<dyn TokenSource>,
    /// Provides the time of log lines.
    pub(crate) clock: Arc<dyn Clock>,
    /// The data folder, which contains `logs/`.
    pub(crate) data_dir: PathBuf,
    /// The child processes of this run of Gatehouse, and the child guard.
    pub(crate) run: Arc<ChildRun>,
    /// The environment of the user's login shell.
    pub(crate) environment: UserEnvironment,
    /// Package mirrors for servers that download packages.
    pub(crate) mirrors: Mirrors,
    /// Validates elicitation schemas and the values entered.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Answers requests of a server that cannot be attributed to a client.
    pub(crate) fallback: Fallback,
    /// All tasks of all connections.
    pub(crate) tasks: TaskTracker,
}

impl ConnectDeps {
    /// Without a guard program, children are still stopped on a clean exit, but not when Gatehouse
    /// is killed.
    pub(crate) fn new(
        secrets: Arc<dyn SecretStore>,
        tokens: Arc<dyn TokenSource>,
        clock: Arc<dyn Clock>,
        data_dir: PathBuf,
        guard_program: Option<PathBuf>,
    ) -> Self {
        Self {
            secrets,
            tokens,
            clock,
            schemas: Arc::new(SchemaChecker::new(guard_program.clone())),
            run: Arc::new(ChildRun::new(guard_program)),
            environment: UserEnvironment::default(),
            mirrors: Mirrors::new(&data_dir, Candidates::default()),
            data_dir,
            fallback: Fallback::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Waits until every connection has ended, then shuts the child guard down. Close the
    /// connections before.
    pub(crate) async fn shutdown(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.run.shutdown().await;
    }
}

/// Parameters of a connection.
#[derive(Clone)]
pub(crate) struct ConnectSpec {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) deps: Arc<ConnectDeps>,
    /// The lifecycle that worked before, if any.
    pub(crate) lifecycle: LifecycleHint,
    /// Learns the secrets that are sent, and removes them from what comes back.
    pub(crate) redactor: Redactor,
}

/// Which lifecycle to begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LifecycleHint {
    /// Unknown: try `server/discover`, then `initialize`.
    #[default]
    Auto,
    /// `initialize` worked before.
    Initialize,
    /// `server/discover` worked before.
    Discover,
}

impl LifecycleHint {
    /// The lifecycles to try, in this order.
    fn order(self) -> &'static [Self] {
        match self {
            Self::Auto => &[Self::Auto, Self::Initialize],
            Self::Initialize => &[Self::Initialize, Self::Auto],
            Self::Discover => &[Self::Discover, Self::Initialize],
        }
    }
}

/// The two families of protocol revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25 and older: `initialize`, sessions, `ping`.
    Stateful,
    /// 2026-07-28: no sessions, each request is self-contained.
    Stateless,
}

/// Result of the handshake.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// Negotiated revision.
    pub(crate) protocol: String,
    pub(crate) era: Era,
    /// How the server identifies itself.
    pub(crate) info: ServerInfo,
    /// The server's capabilities, as raw JSON.
    pub(crate) capabilities: Box<RawValue>,
    /// The lifecycle to begin with next time.
    pub(crate) lifecycle: LifecycleHint,
}

/// Unsolicited messages of a server. Change notifications are never lost (they coalesce); log lines
/// are dropped when the receiver is too slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inbound {
    /// `notifications/tools/list_changed`
    ToolsChanged,
    /// `notifications/prompts/list_changed`
    PromptsChanged,
    /// `notifications/resources/list_changed`
    ResourcesChanged,
    /// `notifications/resources/updated`
    ResourceUpdated { uri: String },
    /// `notifications/message`, formatted as one line.
    Log { line: LogLine },
    /// A line of standard error, or a line of standard output that is not a protocol message.
    Stderr(LogLine),
}

/// A request to be sent.
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: OutgoingParams,
    /// Receives progress. A progress token is sent only if this is set.
    pub(crate) progress: Option<ProgressSink>,
    /// Answers requests that the server makes while it processes this one.
    pub(crate) responder: Option<Responder>,
    pub(crate) limit: CallLimit,
    /// Cancels the request here and upstream, as dropping the future does.
    pub(crate) cancel: CancellationToken,
}

impl<'a> Outgoing<'a> {
    /// A request without progress, ended only by its limit.
    pub(crate) fn plain(method: &'a str, params: OutgoingParams, limit: CallLimit) -> Self {
        Self { method, params, progress: None, responder: None, limit, cancel: CancellationToken::new() }
    }
}

/// A live connection. Cheap to clone; when the last clone is dropped, the connection ends.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Live>);

struct Live {
    handshake: Handshake,
    redactor: Redactor,
    link: Link,
    /// rmcp's running service, which lives as long as this is held.
    service: Mutex<Option<lifecycle::Service>>,
}

enum Link {
    Line(Arc<line::LineLink>),
    Http(Arc<http::HttpLink>),
}

impl Drop for Live {
    fn drop(&mut self) {
        match &self.link {
            Link::Line(link) => link.closing().ask(),
            Link::Http(link) => link.closing().ask(),
        }
    }
}

/// Connects and shakes hands, within the server's time limit for connecting.
///
/// # Errors
/// Why the attempt failed. Nothing is left running then.
pub(crate) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let attempt = async {
        match &spec.config.transport {
            Transport::Stdio { .. } => stdio::connect(spec, inbound, cancel).await,
            Transport::Auto(_) => match http::connect(spec, inbound.clone(), cancel).await {
                // These statuses indicate that the server doesn't support Streamable HTTP. 401, 403
                // and 5xx say nothing about that.
                Err(ConnectError::Status { status: status @ (400 | 404 | 405), .. }) => {
                    tracing::debug!(server = %spec.config.id, status, "the older transport is tried");
                    sse::connect(spec, inbound, cancel).await
                }
                done => done,
            },
            Transport::Http(_) => http::connect(spec, inbound, cancel).await,
            Transport::Sse(_) => sse::connect(spec, inbound, cancel).await,
            Transport::Ws(_) => ws::connect(spec, inbound, cancel).await,
            other @ Transport::Builtin { .. } => Err(ConnectError::Unsupported { kind: other.kind() }),
        }
    };
    let done = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ConnectError::Cancelled),
        done = attempt => done,
    };
    done.map_err(|error| error.redacted(&spec.redactor))
}

impl Connection {
    fn new(mut handshake: Handshake, link: Link, service: lifecycle::Service) -> Self {
        let redactor = match &link {
            Link::Line(link) => link.redactor.clone(),
            Link::Http(link) => link.redactor().clone(),
        };
        handshake.info = redacted_info(handshake.info, &redactor);
        handshake.capabilities = redactor.raw(&handshake.capabilities).into_owned();
        Self(Arc::new(Live { handshake, redactor, link, service: Mutex::new(Some(service)) }))
    }

    /// Removes the server's secrets from a text.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    /// The result of the handshake.
    pub(crate) fn handshake(&self) -> &Handshake {
        &self.0.handshake
    }

    /// Sends a request and waits for its response, within its limit.
    ///
    /// # Errors
    /// When there is no response; a JSON-RPC error of the server is returned as a [`Reply`].
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Reply, RequestError> {
        let answer = match &self.0.link {
            Link::Line(link) => link.request(outgoing).await,
            Link::Http(link) => link.request(outgoing).await,
        };
        match answer {
            Ok(Reply::Result(result)) => Ok(Reply::Result(result)),
            Ok(Reply::Error(error)) => Ok(Reply::Error(self.0.redactor.raw(&error).into_owned())),
            Err(error) => Err(error.redacted(&self.0.redactor)),
        }
    }

    /// Sets the resources to watch. Has an effect only on the stateless revision, where one request
    /// covers all of them.
    pub(crate) fn watch(&self, uris: BTreeSet<String>) {
        let listening = match &self.0.link {
            Link::Line(link) => link.listening(),
            Link::Http(link) => link.listening(),
        };
        if let Some(listening) = listening {
            listening.watch(uris);
        }
    }

    /// Sets the log level. Has an effect only on the stateless revision, where each request carries
    /// it.
    pub(crate) fn set_log_level(&self, level: Option<LogLevel>) {
        let own = match &self.0.link {
            Link::Line(link) => link.own_meta.get(),
            Link::Http(link) => link.own_meta(),
        };
        if let Some(own) = own {
            own.set_log_level(level);
        }
    }

    /// Waits until the connection has ended, and returns how. May be awaited any number of times.
    pub(crate) async fn closed(&self) -> CloseReason {
        self.closing().reason().await.redacted(&self.0.redactor)
    }

    /// Closes the connection and waits until no task and no process of it is left.
    pub(crate) async fn close(&self) {
        let closing = self.closing();
        closing.ask();
        let service = self.0.service.lock().take();
        if let (Some(service), Link::Http(_)) = (service, &self.0.link) {
            // rmcp deletes the HTTP session when its service ends.
            lifecycle::end(service).await;
        }
        closing.gone().await;
    }

    fn closing(&self) -> &close::Closing {
        match &self.0.link {
            Link::Line(link) => link.closing(),
            Link::Http(link) => link.closing(),
        }
    }
}

fn redacted_info(info: ServerInfo, redactor: &Redactor) -> ServerInfo {
    let text = |text| redactor.text(text);
    let ServerInfo { name, title, version, instructions } = info;
    ServerInfo {
        name: text(name),
        title: title.map(text),
        version: text(version),
        instructions: instructions.map(text),
    }
}

#[cfg(test)]
mod tests;
