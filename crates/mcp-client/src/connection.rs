//! One live connection to one upstream server: handshake, raw requests, and how it ended.
//!
//! Each connection is shared by two users. rmcp drives the lifecycle and the version negotiation;
//! Gatehouse's own requests bypass rmcp as raw bytes, with ids of their own, and the router answers
//! the server's requests. Nothing here retries a request, decides on a permission, or reserialises
//! params and results.

pub(crate) mod close;
mod envelope;
mod lifecycle;
mod pending_requests;
mod raw_handshake;
mod router;
mod subscription_stream;
mod transport;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_auth::TokenSource;
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::{LogLevel, LogLine, ProtocolVersionSetting};
use gatehouse_model::status::ServerInfo;
use gatehouse_model::{Clock, ServerConfig, Transport};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::transport::{line, remote_line, sse, stdio, streamable_http, websocket};
use crate::error::CloseReason;
use crate::error::{ConnectError, RequestError};
use crate::forwarded_notification::ForwardedNotification;
use crate::host::ServerHost;
use crate::limit::CallLimit;
use crate::redact::Redactor;
use crate::request::{RpcOutcome, UpstreamRequest};
use crate::schema_check::SchemaChecker;
use crate::server_requests::FallbackHandler;

/// External dependencies of connections, shared by all of them.
pub struct ConnectDeps {
    /// Provides processes and resolved settings.
    pub host: Arc<dyn ServerHost>,
    /// Provides bearer tokens.
    pub tokens: Arc<dyn TokenSource>,
    /// Provides the time of log lines.
    pub clock: Arc<dyn Clock>,
    /// The data folder, which contains `logs/`.
    pub data_dir: PathBuf,
    /// Validates elicitation schemas and the values entered.
    pub schemas: Arc<SchemaChecker>,
    /// Answers requests of a server that cannot be attributed to a client.
    pub fallback: FallbackHandler,
    /// All tasks of all connections.
    pub tasks: TaskTracker,
}

impl ConnectDeps {
    /// Waits until every connection has ended. Close the connections before.
    pub async fn shutdown(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Parameters of a connection.
#[derive(Clone)]
pub struct ConnectSpec {
    pub config: Arc<ServerConfig>,
    pub deps: Arc<ConnectDeps>,
    /// The lifecycle that worked before, if any.
    pub lifecycle: LifecycleHint,
    /// Learns the secrets that are sent, and removes them from what comes back.
    pub redactor: Redactor,
}

/// Which lifecycle to begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LifecycleHint {
    /// Unknown: try `server/discover`, then `initialize`.
    #[default]
    Auto,
    /// `initialize` worked before.
    Initialize,
    /// `server/discover` worked before.
    Discover,
    /// Only `initialize`: the connection is to be one of the older revisions, beside one of the newest.
    OnlyInitialize,
}

impl ConnectSpec {
    /// The lifecycles to try, in this order. A program is asked for `initialize` first: its standard streams carry
    /// one family of revisions, which the first message decides, and all that a server of both can ask its client
    /// for reaches clients of either revision over an older one, but not the other way round.
    fn lifecycles(&self) -> &'static [LifecycleHint] {
        use LifecycleHint::{Auto, Discover, Initialize, OnlyInitialize};
        let is_program = matches!(self.config.transport, Transport::Stdio { .. });
        match (self.config.protocol_version, self.lifecycle) {
            (ProtocolVersionSetting::Stateless, _) => &[Discover],
            (ProtocolVersionSetting::Stateful, _) | (ProtocolVersionSetting::Auto, OnlyInitialize) => {
                &[Initialize]
            }
            (ProtocolVersionSetting::Auto, Auto) if is_program => &[Initialize, Auto],
            (ProtocolVersionSetting::Auto, Auto) => &[Auto, Initialize],
            (ProtocolVersionSetting::Auto, Initialize) => &[Initialize, Auto],
            (ProtocolVersionSetting::Auto, Discover) => &[Discover, Initialize],
        }
    }

    /// Whether HTTP+SSE may be tried. It has only the older revisions, and a server beside whose connection another one is
    /// opened is known to use Streamable HTTP.
    fn may_use_sse(&self) -> bool {
        self.config.protocol_version != ProtocolVersionSetting::Stateless
            && self.lifecycle != LifecycleHint::OnlyInitialize
    }
}

/// Result of the handshake.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// Negotiated revision.
    pub protocol: String,
    pub protocol_family: ProtocolFamily,
    /// How the server identifies itself.
    pub info: ServerInfo,
    /// The server's capabilities, as raw JSON.
    pub capabilities: Box<RawValue>,
    /// `serverInfo` as raw JSON, if the server sent it.
    pub raw_info: Option<Box<RawValue>>,
    /// The lifecycle to begin with next time.
    pub lifecycle: LifecycleHint,
}

/// Unsolicited messages of a server. Change notifications are never lost (they coalesce); log lines
/// are dropped when the receiver is too slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// `notifications/tools/list_changed`
    ToolsChanged,
    /// `notifications/prompts/list_changed`
    PromptsChanged,
    /// `notifications/resources/list_changed`
    ResourcesChanged,
    /// A notification for clients.
    Forwarded(ForwardedNotification),
    /// `notifications/message`, formatted as one line.
    Log { line: LogLine },
    /// A line of standard error, or a line of standard output that is not a protocol message.
    Stderr(LogLine),
}

/// A live connection. Cheap to clone; when the last clone is dropped, the connection ends.
#[derive(Clone)]
pub struct Connection(Arc<ConnectionShared>);

struct ConnectionShared {
    handshake: Handshake,
    redactor: Redactor,
    transport: ConnectionTransport,
    /// rmcp's running service, which lives as long as this is held.
    service: Mutex<Option<lifecycle::RmcpService>>,
}

enum ConnectionTransport {
    Line(Arc<line::LineTransport>),
    Http(Arc<streamable_http::HttpTransport>),
}

impl Drop for ConnectionShared {
    fn drop(&mut self) {
        match &self.transport {
            ConnectionTransport::Line(transport) => transport.closing().request_close(),
            ConnectionTransport::Http(transport) => transport.closing().request_close(),
        }
    }
}

/// Connects and shakes hands, within the server's time limit for connecting.
///
/// # Errors
/// Why the attempt failed. Nothing is left running then.
pub async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let attempt = async {
        match &spec.config.transport {
            Transport::Stdio { .. } => stdio::connect(spec, inbound, cancel).await,
            Transport::Auto(_) => match streamable_http::connect(spec, inbound.clone(), cancel).await {
                // These statuses indicate that the server doesn't support Streamable HTTP. 401, 403
                // and 5xx say nothing about that.
                Err(ConnectError::Request(RequestError::Status {
                    status: status @ (400 | 404 | 405),
                    ..
                })) if spec.may_use_sse() => {
                    tracing::debug!(server = %spec.config.id, status, "the older transport is tried");
                    remote_line::connect(spec, inbound, cancel, sse::open).await
                }
                done => done,
            },
            Transport::Http(_) => streamable_http::connect(spec, inbound, cancel).await,
            Transport::Sse(_) => remote_line::connect(spec, inbound, cancel, sse::open).await,
            Transport::Ws(_) => remote_line::connect(spec, inbound, cancel, websocket::open).await,
            other @ Transport::Builtin { .. } => Err(ConnectError::Unsupported { kind: other.kind() }),
        }
    };
    let done = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ConnectError::CANCELLED),
        done = attempt => done,
    };
    done.map_err(|error| error.with_pinned_version(spec.config.protocol_version).redacted(&spec.redactor))
}

impl Connection {
    fn new(
        mut handshake: Handshake,
        transport: ConnectionTransport,
        service: lifecycle::RmcpService,
    ) -> Self {
        let redactor = match &transport {
            ConnectionTransport::Line(transport) => transport.redactor.clone(),
            ConnectionTransport::Http(transport) => transport.redactor().clone(),
        };
        handshake.info = redacted_info(handshake.info, &redactor);
        handshake.capabilities = redactor.raw(&handshake.capabilities).into_owned();
        handshake.raw_info = handshake.raw_info.map(|info| redactor.raw(&info).into_owned());
        Self(Arc::new(ConnectionShared {
            handshake,
            redactor,
            transport,
            service: Mutex::new(Some(service)),
        }))
    }

    /// Removes the server's secrets from a text.
    pub fn redactor(&self) -> &Redactor {
        &self.0.redactor
    }

    /// The result of the handshake.
    pub fn handshake(&self) -> &Handshake {
        &self.0.handshake
    }

    /// Sends a request and waits for its response, within the limit.
    ///
    /// # Errors
    /// When there is no response; a JSON-RPC error of the server is returned as a [`RpcOutcome`].
    pub async fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> Result<RpcOutcome, RequestError> {
        let answer = match &self.0.transport {
            ConnectionTransport::Line(transport) => transport.request(request, limit).await,
            ConnectionTransport::Http(transport) => transport.request(request, limit).await,
        };
        match answer {
            Ok(RpcOutcome::Result(result)) => Ok(RpcOutcome::Result(result)),
            Ok(RpcOutcome::Error(error)) => Ok(RpcOutcome::Error(self.0.redactor.raw(&error).into_owned())),
            Err(error) => Err(error.redacted(&self.0.redactor)),
        }
    }

    /// Sets the resources to watch. Has an effect only on the stateless revision, where one request
    /// covers all of them.
    pub fn watch(&self, uris: BTreeSet<String>) {
        let subscriptions = match &self.0.transport {
            ConnectionTransport::Line(transport) => transport.subscriptions(),
            ConnectionTransport::Http(transport) => transport.subscriptions(),
        };
        if let Some(subscriptions) = subscriptions {
            subscriptions.watch(uris);
        }
    }

    /// Sets the log level. Has an effect only on the stateless revision, where each request carries
    /// it.
    pub fn set_log_level(&self, level: Option<LogLevel>) {
        let own = match &self.0.transport {
            ConnectionTransport::Line(transport) => transport.request_meta.get(),
            ConnectionTransport::Http(transport) => transport.request_meta(),
        };
        if let Some(own) = own {
            own.set_log_level(level);
        }
    }

    /// Waits until the connection has ended, and returns how. May be awaited any number of times.
    pub async fn closed(&self) -> CloseReason {
        self.closing().wait_for_reason().await.redacted(&self.0.redactor)
    }

    /// Closes the connection and waits until no task and no process of it is left.
    pub async fn close(&self) {
        let closing = self.closing();
        closing.request_close();
        let service = self.0.service.lock().take();
        if let (Some(service), ConnectionTransport::Http(_)) = (service, &self.0.transport) {
            // rmcp deletes the HTTP session when its service ends.
            lifecycle::end(service).await;
        }
        closing.wait_until_closed().await;
    }

    fn closing(&self) -> &close::CloseSignal {
        match &self.0.transport {
            ConnectionTransport::Line(transport) => transport.closing(),
            ConnectionTransport::Http(transport) => transport.closing(),
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
