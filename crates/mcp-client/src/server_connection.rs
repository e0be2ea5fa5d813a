//! The interface between an actor and a connection. It lets an actor run the same way over a real
//! connection, a built-in server or a scripted server in tests. Nothing here depends on a
//! transport.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use gatehouse_common::invisible_chars::clean;
use gatehouse_model::BoxFuture;
use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use tokio_util::sync::CancellationToken;

use crate::connection::close::CloseCause;
use crate::connection::error::RequestError;
use crate::connection::limit::CallLimit;
use crate::connection::redact::Redactor;
use crate::connection::{Connection, Handshake, TransportRequest};
use crate::rpc::{ProgressSink, RequestParams, RpcOutcome};
use crate::server_requests::Responder;

/// A connection whose handshake is done.
pub trait ServerConnection: Send + Sync {
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
pub enum ConnectionEnd {
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
pub struct ConnectionRequest {
    pub method: &'static str,
    pub params: RequestParams,
    /// Receives progress notifications, if the caller wants them.
    pub progress: Option<ProgressSink>,
    /// Answers requests that the server makes while it processes this one.
    pub responder: Option<Responder>,
    pub limit: CallLimit,
    /// Cancels the request, here and upstream.
    pub cancel: CancellationToken,
}

impl ConnectionRequest {
    /// A small request that Gatehouse makes on its own behalf: no progress, no responder, at most
    /// `limit` in all.
    pub fn own(method: &'static str, params: RequestParams, limit: Duration) -> Self {
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
pub enum UpstreamError {
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

impl ServerConnection for Connection {
    fn handshake(&self) -> &Handshake {
        Connection::handshake(self)
    }

    fn request(&self, request: ConnectionRequest) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>> {
        Box::pin(async move {
            let ConnectionRequest { method, params, progress, responder, limit, cancel } = request;
            let outgoing = TransportRequest { method, params, progress, responder, limit, cancel };
            Connection::request(self, outgoing).await.map_err(UpstreamError::from)
        })
    }

    fn closed(&self) -> BoxFuture<'_, ConnectionEnd> {
        Box::pin(async move {
            let reason = Connection::closed(self).await;
            match reason.cause {
                CloseCause::SessionGone => ConnectionEnd::SessionLost,
                CloseCause::Refused(RequestError::NeedsAuth { issuer }) => {
                    ConnectionEnd::Challenged { issuer }
                }
                _ => ConnectionEnd::Closed { kind: reason.failure_kind(), reason: user_message(&reason) },
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(Connection::close(self))
    }

    fn watch(&self, uris: BTreeSet<String>) {
        Connection::watch(self, uris);
    }

    fn set_log_level(&self, level: Option<LogLevel>) {
        Connection::set_log_level(self, level);
    }

    fn redactor(&self) -> Redactor {
        Connection::redactor(self).clone()
    }
}

impl From<RequestError> for UpstreamError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Closed { reason: user_message(&reason) },
            RequestError::TimedOut { after } => Self::TimedOut { after },
            RequestError::Cancelled => Self::Cancelled,
            RequestError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            RequestError::Unregistered { .. } => Self::NeedsAuth { issuer: None },
            RequestError::SessionGone => Self::SessionLost,
            other => Self::Failed { kind: other.failure_kind(), message: user_message(&other) },
        }
    }
}

/// An error as a message for the user. It may contain text of the server (its last lines of
/// standard error, for example), so invisible and control characters are removed.
#[must_use]
pub fn user_message(error: &impl Display) -> String {
    clean(&error.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_hidden_characters_from_messages() {
        let said = || "a\u{202e}b\u{200b} \u{1b}[31mred\u{1b}[0m".to_owned();
        for error in [RequestError::Closed(said()), RequestError::Protocol(said())] {
            let message = UpstreamError::from(error).to_string();
            assert!(message.contains("ab red") && !message.contains('\u{1b}'), "{message:?}");
        }
    }
}
