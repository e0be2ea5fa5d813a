//! The only place where a transport is chosen. Real connections and built-in servers are both
//! returned as [`Link`]s. This module opens connections and translates their errors into messages
//! for the user; it never retries.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use gatehouse_common::invisible_chars::clean;
use gatehouse_model::server::LogLevel;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{BoxFuture, Transport};

use super::link::{ConnectOrder, Connector, Link, LinkEnd, LinkError, LinkRequest};
use crate::builtin::{BuiltinLink, BuiltinPlace};
use crate::connection::redact::Redactor;
use crate::connection::{
    CloseCause, ConnectDeps, ConnectError, ConnectSpec, Connection, Handshake, Outgoing, RequestError,
    connect,
};
use crate::enterprise::PolicyFile;
use crate::outgoing::Reply;
use crate::transition::Failure;

/// Connects to servers of every supported transport.
pub(crate) struct Transports {
    /// Dependencies of real connections.
    pub(crate) deps: Arc<ConnectDeps>,
    /// The managed policy.
    pub(crate) policy: PolicyFile,
    /// Dependencies of built-in servers.
    pub(crate) place: Arc<BuiltinPlace>,
}

impl Connector for Transports {
    fn connect(&self, order: ConnectOrder) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(async move {
            let ConnectOrder { config, lifecycle, inbound, cancel } = order;
            let (policy, asked) = (self.policy.clone(), Arc::clone(&config));
            let forbidden = tokio::task::spawn_blocking(move || policy.forbids(&asked)).await;
            let forbidden =
                forbidden.unwrap_or_else(|error| Some(format!("The policy could not be read: {error}.")));
            if let Some(message) = forbidden {
                return Err(Failure::Error { kind: FailureKind::Configuration, message });
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
                    Ok(Arc::new(connection) as Arc<dyn Link>)
                }
                Transport::Builtin { builtin } => {
                    let link = BuiltinLink::open(builtin, &self.place).await?;
                    Ok(Arc::new(link) as Arc<dyn Link>)
                }
            }
        })
    }
}

impl Link for Connection {
    fn handshake(&self) -> &Handshake {
        Connection::handshake(self)
    }

    fn request(&self, request: LinkRequest) -> BoxFuture<'_, Result<Reply, LinkError>> {
        Box::pin(async move {
            let LinkRequest { method, params, progress, responder, limit, cancel } = request;
            let outgoing = Outgoing { method, params, progress, responder, limit, cancel };
            Connection::request(self, outgoing).await.map_err(LinkError::from)
        })
    }

    fn closed(&self) -> BoxFuture<'_, LinkEnd> {
        Box::pin(async move {
            let reason = Connection::closed(self).await;
            match reason.cause {
                CloseCause::SessionGone => LinkEnd::SessionLost,
                CloseCause::Refused(RequestError::NeedsAuth { issuer }) => LinkEnd::Challenged { issuer },
                _ => LinkEnd::Closed { kind: reason.failure(), reason: words(&reason) },
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

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            ConnectError::Unregistered { reason } => Self::NeedsClientRegistration { reason },
            other => Self::Error { kind: other.failure(), message: words(&other) },
        }
    }
}

impl From<RequestError> for LinkError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Closed { reason: words(&reason) },
            RequestError::TimedOut { after } => Self::TimedOut { after },
            RequestError::Cancelled => Self::Cancelled,
            RequestError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            RequestError::Unregistered { .. } => Self::NeedsAuth { issuer: None },
            RequestError::SessionGone => Self::SessionLost,
            other => Self::Failed { kind: other.failure(), message: words(&other) },
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
        let failures = failures.map(|error| Failure::from(error).to_string());
        let errors = errors.map(|error| LinkError::from(error).to_string());
        for words in failures.iter().chain(&errors) {
            assert!(words.contains("ab red") && !words.contains('\u{1b}'), "{words:?}");
        }
    }
}
