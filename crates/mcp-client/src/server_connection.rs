//! The interface between an actor and a connection. It lets an actor run the same way over a real
//! connection, a built-in server or a scripted server in tests. Nothing here depends on a
//! transport.

use std::collections::BTreeSet;

use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{BoxFuture, UserText};

use crate::connection::{Connection, Handshake};
use crate::error::CloseCause;
use crate::error::{RequestError, UpstreamError};
use crate::limit::CallLimit;
use crate::redact::Redactor;
use crate::request::{RpcOutcome, UpstreamRequest};

/// A connection whose handshake is done.
pub trait ServerConnection: Send + Sync {
    /// The result of the handshake.
    fn handshake(&self) -> &Handshake;

    /// Sends a request and waits for its response within the limit. Dropping the future cancels the
    /// request upstream.
    fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>>;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// It was closed or broke.
    Closed {
        kind: FailureKind,
        /// Exit code or signal and the last lines of standard error.
        reason: UserText,
    },
    /// The session has expired on the server.
    SessionLost,
    /// The server requires the user to sign in.
    Challenged {
        /// Authorization server, if the server names one.
        issuer: Option<String>,
    },
}

impl ServerConnection for Connection {
    fn handshake(&self) -> &Handshake {
        Connection::handshake(self)
    }

    fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>> {
        Box::pin(async move { Connection::request(self, request, limit).await.map_err(UpstreamError::from) })
    }

    fn closed(&self) -> BoxFuture<'_, ConnectionEnd> {
        Box::pin(async move {
            let reason = Connection::closed(self).await;
            match reason.cause {
                CloseCause::SessionGone => ConnectionEnd::SessionLost,
                CloseCause::Refused(RequestError::NeedsAuth { issuer }) => {
                    ConnectionEnd::Challenged { issuer }
                }
                _ => ConnectionEnd::Closed { kind: reason.failure_kind(), reason: reason.user_text() },
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
