//! What an actor needs of a connection, so that it runs alike over a real one, a built-in server and
//! a scripted one in tests. Nothing here knows a transport.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::BoxFuture;
use gatehouse_model::ServerConfig;
use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::asks::Responder;
use crate::connection::redact::Redactor;
use crate::connection::{CallLimit, Handshake, Inbound, LifecycleHint};
use crate::outgoing::{OutgoingParams, ProgressSink, Reply};
use crate::transition::Failure;

/// Makes connections.
pub(crate) trait Connector: Send + Sync {
    /// Makes one. When `cancel` is cancelled it gives up soon and leaves nothing running; the same
    /// holds for an error.
    fn connect(&self, order: ConnectOrder) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>>;
}

/// What to connect to.
#[derive(Clone)]
pub(crate) struct ConnectOrder {
    /// The server.
    pub(crate) config: Arc<ServerConfig>,
    /// How its handshake went before, if that is known.
    pub(crate) lifecycle: LifecycleHint,
    /// Where to put what the server says of its own accord.
    pub(crate) inbound: mpsc::Sender<Inbound>,
    /// Ends the attempt.
    pub(crate) cancel: CancellationToken,
}

/// A connection whose handshake is done.
pub(crate) trait Link: Send + Sync {
    /// What was agreed.
    fn handshake(&self) -> &Handshake;

    /// Sends a request and waits for its answer, at the most as long as its limits say. Dropping
    /// the future cancels the request upstream.
    fn request(&self, request: LinkRequest) -> BoxFuture<'_, Result<Reply, LinkError>>;

    /// Waits until the connection has ended, by itself or by [`Link::close`], and says how.
    fn closed(&self) -> BoxFuture<'_, LinkEnd>;

    /// Ends it and returns when nothing of it is left.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Sets the resources that the server is to tell of, on the revision where that is one standing
    /// request; elsewhere each is subscribed to by a request of its own.
    fn watch(&self, uris: BTreeSet<String>);

    /// Sets how much the server is to log, on the revision where each request says it; elsewhere it
    /// is told by a request of its own.
    fn set_log_level(&self, level: Option<LogLevel>);

    /// What takes the secrets that the server was given out of a text. Built-in servers are given none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    /// It closed or broke.
    Closed {
        /// What kind of end it is.
        kind: FailureKind,
        /// Exit code or signal and the last words, in plain text.
        reason: String,
    },
    /// The server no longer knows the session.
    SessionLost,
    /// The server wants the user to sign in.
    Challenged {
        /// Authorization server, where known.
        issuer: Option<String>,
    },
}

/// One request.
pub(crate) struct LinkRequest {
    /// Method.
    pub(crate) method: &'static str,
    /// Params.
    pub(crate) params: OutgoingParams,
    /// Takes progress, if anybody wants it.
    pub(crate) progress: Option<ProgressSink>,
    /// Who answers what the server asks because of it.
    pub(crate) responder: Option<Responder>,
    /// How long it may take.
    pub(crate) limit: CallLimit,
    /// Cancels it upstream.
    pub(crate) cancel: CancellationToken,
}

impl LinkRequest {
    /// A small request of Gatehouse's own.
    pub(crate) fn own(method: &'static str, params: OutgoingParams, limit: Duration) -> Self {
        Self {
            method,
            params,
            progress: None,
            responder: None,
            limit: CallLimit::within(limit),
            cancel: CancellationToken::new(),
        }
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    /// Its limit is over.
    #[error("no answer within {} s", after.as_secs())]
    TimedOut {
        /// Which limit.
        after: Duration,
    },
    /// It was cancelled.
    #[error("it was cancelled")]
    Cancelled,
    /// The connection ended.
    #[error("the connection ended: {reason}")]
    Closed {
        /// How.
        reason: String,
    },
    /// The server wants the user to sign in.
    #[error("the server wants you to sign in")]
    NeedsAuth {
        /// Authorization server, where known.
        issuer: Option<String>,
    },
    /// The server no longer knows the session; it did nothing.
    #[error("the server no longer knows the session")]
    SessionLost,
    /// Anything else on the way.
    #[error("{message}")]
    Failed {
        /// What kind.
        kind: FailureKind,
        /// In plain words.
        message: String,
    },
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        let temporary = |message| Self::Error { kind: FailureKind::TemporaryNetwork, message };
        match error {
            LinkError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            LinkError::Failed { kind, message } => Self::Error { kind, message },
            LinkError::TimedOut { after } => {
                temporary(format!("The server connected but did not answer within {} s.", after.as_secs()))
            }
            LinkError::Closed { reason } => temporary(reason),
            LinkError::SessionLost => {
                temporary("The server lost its session while the connection was made.".to_owned())
            }
            LinkError::Cancelled => temporary("The attempt was cancelled.".to_owned()),
        }
    }
}
