//! One live connection to one upstream server: handshake, raw requests, and how it ended.
//!
//! There is one wire per server with two users. rmcp drives lifecycle and version negotiation over
//! it and answers what the server asks; Gatehouse's own requests go past rmcp as raw bytes under
//! ids of their own. Nothing here retries a request, decides on a permission, or renders params
//! and results again.

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

/// What every connection needs from outside; one per `ServerManager`.
pub(crate) struct ConnectDeps {
    /// Where `${secret:NAME}` is looked up.
    pub(crate) secrets: Arc<dyn SecretStore>,
    /// Where bearer tokens come from.
    pub(crate) tokens: Arc<dyn TokenSource>,
    /// Time for log lines.
    pub(crate) clock: Arc<dyn Clock>,
    /// Folder under which `logs/` is.
    pub(crate) data_dir: PathBuf,
    /// The children of this run of Gatehouse, and their guard.
    pub(crate) run: Arc<ChildRun>,
    /// What the user's login shell knows.
    pub(crate) environment: UserEnvironment,
    /// Where servers get their packages from.
    pub(crate) mirrors: Mirrors,
    /// Checks forms, and what is entered in them.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Answers what a server asks where no client can be told to be meant.
    pub(crate) fallback: Fallback,
    /// Everything that a connection has running.
    pub(crate) tasks: TaskTracker,
}

impl ConnectDeps {
    /// Puts them together. Without a guard program children are still stopped on a clean end, but
    /// not when Gatehouse is killed.
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

    /// Waits until every connection has ended and lets the guard go. Close the connections first.
    pub(crate) async fn shutdown(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.run.shutdown().await;
    }
}

/// What to connect to, and how.
#[derive(Clone)]
pub(crate) struct ConnectSpec {
    /// The server.
    pub(crate) config: Arc<ServerConfig>,
    /// What is needed from outside.
    pub(crate) deps: Arc<ConnectDeps>,
    /// The lifecycle that worked before, if one did.
    pub(crate) lifecycle: LifecycleHint,
    /// Learns the secrets that are sent, and takes them out of what comes back.
    pub(crate) redactor: Redactor,
}

/// Which lifecycle to begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LifecycleHint {
    /// Find out: `server/discover`, else `initialize`.
    #[default]
    Auto,
    /// `initialize` worked before.
    Initialize,
    /// `server/discover` worked before.
    Discover,
}

impl LifecycleHint {
    /// What to try, in this order.
    fn order(self) -> &'static [Self] {
        match self {
            Self::Auto => &[Self::Auto, Self::Initialize],
            Self::Initialize => &[Self::Initialize, Self::Auto],
            Self::Discover => &[Self::Discover, Self::Initialize],
        }
    }
}

/// The two families of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25 and older: `initialize`, sessions, `ping`.
    Stateful,
    /// 2026-07-28: each request stands for itself.
    Stateless,
}

/// What the handshake found out.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    /// Negotiated revision.
    pub(crate) protocol: String,
    /// Its family.
    pub(crate) era: Era,
    /// How the server names itself.
    pub(crate) info: ServerInfo,
    /// Its capabilities, as it wrote them.
    pub(crate) capabilities: Box<RawValue>,
    /// What to begin with next time.
    pub(crate) lifecycle: LifecycleHint,
}

/// What a server says by itself. Changes are never lost (they coalesce); log lines may be, when
/// nobody takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inbound {
    /// `notifications/tools/list_changed`
    ToolsChanged,
    /// `notifications/prompts/list_changed`
    PromptsChanged,
    /// `notifications/resources/list_changed`
    ResourcesChanged,
    /// `notifications/resources/updated`
    ResourceUpdated {
        /// Which resource.
        uri: String,
    },
    /// `notifications/message`, in one line.
    Log {
        /// The line.
        line: LogLine,
    },
    /// A line of standard error, or something on standard output that is not protocol.
    Stderr(LogLine),
}

/// One request on its way.
pub(crate) struct Outgoing<'a> {
    /// Method.
    pub(crate) method: &'a str,
    /// Params.
    pub(crate) params: OutgoingParams,
    /// Where progress goes. A progress token is sent only with one.
    pub(crate) progress: Option<ProgressSink>,
    /// Who answers what the server asks because of it.
    pub(crate) responder: Option<Responder>,
    /// How long it may take.
    pub(crate) limit: CallLimit,
    /// Cancels it, here and upstream, as dropping the future does.
    pub(crate) cancel: CancellationToken,
}

impl<'a> Outgoing<'a> {
    /// A request without progress that only its limit ends.
    pub(crate) fn plain(method: &'a str, params: OutgoingParams, limit: CallLimit) -> Self {
        Self { method, params, progress: None, responder: None, limit, cancel: CancellationToken::new() }
    }
}

/// A live connection. Cheap to clone; when the last clone goes, the connection ends.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Live>);

struct Live {
    handshake: Handshake,
    redactor: Redactor,
    link: Link,
    /// rmcp's side, which runs as long as this is held.
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

/// Connects and shakes hands, within the server's limit for connecting.
///
/// # Errors
/// Says what failed and of which kind. Nothing is left running then.
pub(crate) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let attempt = async {
        match &spec.config.transport {
            Transport::Stdio { .. } => stdio::connect(spec, inbound, cancel).await,
            Transport::Auto(_) => match http::connect(spec, inbound.clone(), cancel).await {
                // What is there does not take Streamable HTTP; 401, 403 and 5xx say nothing of that.
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

    /// What takes the server's secrets out of a text.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    /// What the handshake found out.
    pub(crate) fn handshake(&self) -> &Handshake {
        &self.0.handshake
    }

    /// Sends a request and waits for its answer, within its limit.
    ///
    /// # Errors
    /// When there is no answer; an error that the server answers is a [`Reply`].
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

    /// Sets the resources that the server is to tell of, on the revision where that is one request
    /// for all of them.
    pub(crate) fn watch(&self, uris: BTreeSet<String>) {
        let listening = match &self.0.link {
            Link::Line(link) => link.listening(),
            Link::Http(link) => link.listening(),
        };
        if let Some(listening) = listening {
            listening.watch(uris);
        }
    }

    /// Sets how much the server is to log, on the revision where each request says it.
    pub(crate) fn set_log_level(&self, level: Option<LogLevel>) {
        let own = match &self.0.link {
            Link::Line(link) => link.own_meta.get(),
            Link::Http(link) => link.own_meta(),
        };
        if let Some(own) = own {
            own.set_log_level(level);
        }
    }

    /// Waits until the connection has ended, and says how. May be awaited any number of times.
    pub(crate) async fn closed(&self) -> CloseReason {
        self.closing().reason().await.redacted(&self.0.redactor)
    }

    /// Ends the connection and waits until nothing of it is left: no task, no process.
    pub(crate) async fn close(&self) {
        let closing = self.closing();
        closing.ask();
        let service = self.0.service.lock().take();
        if let (Some(service), Link::Http(_)) = (service, &self.0.link) {
            // rmcp's side says goodbye to the session.
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
