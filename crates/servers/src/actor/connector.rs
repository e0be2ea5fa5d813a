//! The only place where a transport is chosen. Real connections and built-in servers are both
//! returned as [`ServerConnection`]s. This module opens connections and translates their errors into messages
//! for the user; it never retries.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use gatehouse_common::invisible_chars::clean;
use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{BoxFuture, Transport};

use super::connection::{
    ConnectOptions, ConnectionEnd, ConnectionRequest, Connector, ServerConnection, UpstreamError,
};
use crate::builtin::{BuiltinConnection, BuiltinContext};
use crate::connection::redact::Redactor;
use crate::connection::{
    CloseCause, ConnectDeps, ConnectError, ConnectSpec, Connection, Handshake, RequestError,
    TransportRequest, connect,
};
use crate::managed_policy::PolicyFile;
use crate::rpc::RpcOutcome;
use crate::transition::ConnectFailure;

/// Connects to servers of every supported transport.
pub(crate) struct UpstreamConnector {
    /// Dependencies of real connections.
    pub(crate) deps: Arc<ConnectDeps>,
    /// The managed policy.
    pub(crate) policy: PolicyFile,
    /// Dependencies of built-in servers.
    pub(crate) place: Arc<BuiltinContext>,
}

impl Connector for UpstreamConnector {
    fn connect(
        &self,
        options: ConnectOptions,
    ) -> BoxFuture<'_, Result<Arc<dyn ServerConnection>, ConnectFailure>> {
        Box::pin(async move {
            let ConnectOptions { config, lifecycle, inbound, cancel } = options;
            let (policy, asked) = (self.policy.clone(), Arc::clone(&config));
            let forbidden = tokio::task::spawn_blocking(move || policy.forbids(&asked)).await;
            let forbidden =
                forbidden.unwrap_or_else(|error| Some(format!("The policy could not be read: {error}.")));
            if let Some(message) = forbidden {
                return Err(ConnectFailure::Error { kind: FailureKind::Configuration, message });
            }
            match &config.transport {
                Transport::Stdio { .. }
                | Transport::Auto(_)
                | Transport::Http(_)
                | Transport::Sse(_)
                | Transport::Ws(_) => {
                    let spec = ConnectSpec {
                        config,
                        deps: Arc::clone(&self.deps),
                        lifecycle,
                        redactor: Redactor::default(),
                    };
                    let connection = connect(&spec, inbound, &cancel).await?;
                    Ok(Arc::new(connection) as Arc<dyn ServerConnection>)
                }
                Transport::Builtin { builtin } => {
                    let connection = BuiltinConnection::open(builtin, &self.place).await?;
                    Ok(Arc::new(connection) as Arc<dyn ServerConnection>)
                }
            }
        })
    }
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
                _ => ConnectionEnd::Closed { kind: reason.failure_kind(), reason: words(&reason) },
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

/// An error as a message for the user. It may contain text of the server (its last lines of
/// standard error, for example), so invisible and control characters are removed.
fn words(wrong: &impl Display) -> String {
    clean(&wrong.to_string()).into_owned()
}

impl From<ConnectError> for ConnectFailure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            ConnectError::Unregistered { reason } => Self::NeedsClientRegistration { reason },
            other => Self::Error { kind: other.failure_kind(), message: words(&other) },
        }
    }
}

impl From<RequestError> for UpstreamError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Closed { reason: words(&reason) },
            RequestError::TimedOut { after } => Self::TimedOut { after },
            RequestError::Cancelled => Self::Cancelled,
            RequestError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            RequestError::Unregistered { .. } => Self::NeedsAuth { issuer: None },
            RequestError::SessionGone => Self::SessionLost,
            other => Self::Failed { kind: other.failure_kind(), message: words(&other) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_the_words_of_a_failure() {
        let said = || "a\u{202e}b\u{200b} \u{1b}[31mred\u{1b}[0m".to_owned();
        let kind = FailureKind::Unknown;
        let failures = [
            ConnectError::Ended { reason: said(), kind },
            ConnectError::Protocol(said()),
            ConnectError::Status { status: 500, body: said() },
        ];
        let errors = [RequestError::Closed(said()), RequestError::Protocol(said())];
        let failures = failures.map(|error| ConnectFailure::from(error).to_string());
        let errors = errors.map(|error| UpstreamError::from(error).to_string());
        for words in failures.iter().chain(&errors) {
            assert!(words.contains("ab red") && !words.contains('\u{1b}'), "{words:?}");
        }
    }
}
