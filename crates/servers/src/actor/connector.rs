//! The only place where a transport is chosen. Real connections and built-in servers are both
//! returned as [`ServerConnection`]s. This module opens connections and translates their errors into
//! messages for the user; it never retries.

use std::sync::Arc;

use gatehouse_builtin_servers::{BuiltinConnection, BuiltinContext};
use gatehouse_mcp_client::{
    ConnectDeps, ConnectError, ConnectSpec, Inbound, LifecycleHint, Redactor, RequestError, ServerConnection,
    UpstreamError, UpstreamErrorKind, connect,
};
use gatehouse_model::status::FailureKind;
use gatehouse_model::{BoxFuture, ServerConfig, Transport, UserText, message};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::managed_policy::PolicyFile;
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
    /// Learns the secrets that are sent.
    pub(crate) redactor: Redactor,
    /// Receives the server's unsolicited messages.
    pub(crate) inbound: mpsc::Sender<Inbound>,
    /// Cancels the attempt.
    pub(crate) cancel: CancellationToken,
}

/// Connects to servers of every supported transport.
pub(crate) struct UpstreamConnector {
    /// Dependencies of real connections.
    pub(crate) deps: Arc<ConnectDeps>,
    /// The managed policy.
    pub(crate) policy: PolicyFile,
    /// Dependencies of built-in servers.
    pub(crate) builtin: Arc<BuiltinContext>,
}

impl Connector for UpstreamConnector {
    fn connect(
        &self,
        options: ConnectOptions,
    ) -> BoxFuture<'_, Result<Arc<dyn ServerConnection>, ConnectFailure>> {
        Box::pin(async move {
            let ConnectOptions { config, lifecycle, redactor, inbound, cancel } = options;
            let (policy, asked) = (self.policy.clone(), Arc::clone(&config));
            let forbidden = tokio::task::spawn_blocking(move || policy.forbids(&asked)).await;
            let forbidden = forbidden.unwrap_or_else(|error| {
                Some(message!("error.servers.policyFailed", reason = error.to_string()).into())
            });
            if let Some(message) = forbidden {
                return Err(ConnectFailure::Error { kind: FailureKind::Configuration, message });
            }
            match &config.transport {
                Transport::Stdio { .. }
                | Transport::Auto(_)
                | Transport::Http(_)
                | Transport::Sse(_)
                | Transport::Ws(_) => {
                    let spec = ConnectSpec { config, deps: Arc::clone(&self.deps), lifecycle, redactor };
                    let connection = connect(&spec, inbound, &cancel).await?;
                    Ok(Arc::new(connection) as Arc<dyn ServerConnection>)
                }
                Transport::Builtin { builtin } => {
                    let opened = BuiltinConnection::open(builtin, &self.builtin).await;
                    let connection = opened.map_err(|message| ConnectFailure::Error {
                        kind: FailureKind::Configuration,
                        message,
                    })?;
                    Ok(Arc::new(connection) as Arc<dyn ServerConnection>)
                }
            }
        })
    }
}

impl From<ConnectError> for ConnectFailure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Request(RequestError::NeedsAuth { issuer }) => Self::NeedsAuth { issuer },
            ConnectError::Request(RequestError::Unregistered { reason }) => {
                Self::NeedsClientRegistration { reason }
            }
            other => Self::Error { kind: other.failure_kind(), message: other.user_text() },
        }
    }
}

impl From<UpstreamError> for ConnectFailure {
    fn from(error: UpstreamError) -> Self {
        let temporary = |message: UserText| Self::Error { kind: FailureKind::TemporaryNetwork, message };
        match error.kind {
            UpstreamErrorKind::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            UpstreamErrorKind::Transport { failure, message } => Self::Error { kind: failure, message },
            UpstreamErrorKind::TimedOut { after } => {
                let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX);
                temporary(message!("error.servers.connectedTimedOut", seconds = seconds).into())
            }
            UpstreamErrorKind::Closed { reason } => temporary(reason),
            UpstreamErrorKind::SessionLost => temporary(message!("error.servers.sessionLost").into()),
            UpstreamErrorKind::Cancelled
            | UpstreamErrorKind::SwitchedOff
            | UpstreamErrorKind::Unavailable { .. } => {
                temporary(message!("error.servers.attemptCancelled").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_mcp_client::{CloseCause, CloseReason};

    use super::*;

    #[test]
    fn removes_hidden_characters_from_messages() {
        let said = || "a\u{202e}b\u{200b} \u{1b}[31mred\u{1b}[0m".to_owned();
        let closed = CloseReason { cause: CloseCause::Exited(1), last_lines: [said()].into() };
        for error in [
            RequestError::from(closed),
            RequestError::Protocol(said().into()),
            RequestError::Status { status: 500, body: said(), retry_after: None },
        ] {
            let message = ConnectFailure::from(ConnectError::from(error)).to_string();
            assert!(message.contains("ab red") && !message.contains('\u{1b}'), "{message:?}");
        }
    }
}
