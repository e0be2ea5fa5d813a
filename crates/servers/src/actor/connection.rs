//! The interface between an actor and a connection. It lets an actor run the same way over a real
//! connection, a built-in server or a scripted server in tests. Nothing here depends on a
//! transport.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::BoxFuture;
use gatehouse_model::ServerConfig;
use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::connection::redact::Redactor;
use crate::connection::{CallLimit, Handshake, Inbound, LifecycleHint};
use crate::rpc::{ProgressSink, RequestParams, RpcOutcome};
use crate::server_requests::Responder;
use crate::transition::ConnectFailure;

/// Establishes connections.
pub(crate) trait Connector: Send + Sync {
    /// Connects and shakes hands. When `cancel` is cancelled, it gives up soon. Whether cancelled
    /// or failed, it leaves nothing running.
    fn connect(
        &self,
        options: ConnectOptions,
    ) -> BoxFuture<'_, Result<Arc<dyn ServerConnection>, ConnectFailure>>;
}

/// Parameters of an attempt to connect.
#[derive(Clone)]
pub(crate) struct ConnectOptions {
    pub(crate) config: Arc<ServerConfig>,
    /// The lifecycle that worked before, if known.
    pub(crate) lifecycle: LifecycleHint,
    /// Receives the server's unsolicited messages.
    pub(crate) inbound: mpsc::Sender<Inbound>,
    /// Cancels the attempt.
    pub(crate) cancel: CancellationToken,
}

/// A connection whose handshake is done.
pub(crate) trait ServerConnection: Send + Sync {
    /// The result of the handshake.
    fn handshake(&self) -> &Handshake;

    /// Sends a request and waits for its response, at most as long as the request's limit. Dropping
    /// the future cancels the request upstream.
    fn request(&self, request: ConnectionRequest) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>>;

    /// Waits until the connection has ended, by itself or by [`ServerConnection::close`], and returns how.
    fn closed(&self) -> BoxFuture<'_, ConnectionEnd>;

    /// Closes the connection and returns when nothing of it is left.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Sets the resources to watch. Has an effect only on the stateless revision, where one
    /// `subscriptions/listen` request covers all of them; on older revisions each resource is
    /// subscribed to by a request of its own.
    fn watch(&self, uris: BTreeSet<String>);

    /// Sets the log level. Has an effect only on the stateless revision, where each request carries
    /// the level; on older revisions it is set by a request of its own.
    fn set_log_level(&self, level: Option<LogLevel>);

    /// Removes from a text the secrets that the server was given. Built-in servers are given none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// It was closed or broke.
    Closed {
        kind: FailureKind,
        /// Exit code or signal and the last lines of standard error, in plain text.
        reason: String,
    },
    /// The session has expired on the server.
    SessionLost,
    /// The server requires the user to sign in.
    Challenged {
        /// Authorization server, if the server names one.
        issuer: Option<String>,
    },
}

/// One request to a server.
pub(crate) struct ConnectionRequest {
    pub(crate) method: &'static str,
    pub(crate) params: RequestParams,
    /// Receives progress notifications, if the caller wants them.
    pub(crate) progress: Option<ProgressSink>,
    /// Answers requests that the server makes while it processes this one.
    pub(crate) responder: Option<Responder>,
    pub(crate) limit: CallLimit,
    /// Cancels the request, here and upstream.
    pub(crate) cancel: CancellationToken,
}

impl ConnectionRequest {
    /// A small request that Gatehouse makes on its own behalf: no progress, no responder, at most
    /// `limit` in all.
    pub(crate) fn own(method: &'static str, params: RequestParams, limit: Duration) -> Self {
        Self {
            method,
            params,
            progress: None,
            responder: None,
            limit: CallLimit::total(limit),
            cancel: CancellationToken::new(),
        }
    }
}

/// Why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UpstreamError {
    /// The time limit was reached.
    #[error("no answer within {} s", after.as_secs())]
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
    #[error("it was cancelled")]
    Cancelled,
    /// The connection ended.
    #[error("the connection ended: {reason}")]
    Closed { reason: String },
    /// The server requires the user to sign in.
    #[error("the server wants you to sign in")]
    NeedsAuth {
        /// Authorization server, if the server names one.
        issuer: Option<String>,
    },
    /// The session has expired on the server; the request was not processed.
    #[error("the server no longer knows the session")]
    SessionLost,
    /// Any other failure.
    #[error("{message}")]
    Failed {
        kind: FailureKind,
        /// Message for the user.
        message: String,
    },
}

impl From<UpstreamError> for ConnectFailure {
    fn from(error: UpstreamError) -> Self {
        let temporary = |message| Self::Error { kind: FailureKind::TemporaryNetwork, message };
        match error {
            UpstreamError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            UpstreamError::Failed { kind, message } => Self::Error { kind, message },
            UpstreamError::TimedOut { after } => {
                temporary(format!("The server connected but did not answer within {} s.", after.as_secs()))
            }
            UpstreamError::Closed { reason } => temporary(reason),
            UpstreamError::SessionLost => {
                temporary("The server lost its session while the connection was made.".to_owned())
            }
            UpstreamError::Cancelled => temporary("The attempt was cancelled.".to_owned()),
        }
    }
}
