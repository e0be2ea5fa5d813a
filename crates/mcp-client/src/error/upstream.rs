//! Why a request has no response: one error for everything between the call pipeline and the
//! transport.

use std::time::Duration;

use gatehouse_model::status::FailureKind;
use gatehouse_model::{ServerStatus, UserText};

use super::RequestError;

/// Why a request has no response. A JSON-RPC error of the server is a response
/// ([`RpcOutcome::Error`](crate::RpcOutcome::Error)), not one of these.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct UpstreamError {
    pub kind: UpstreamErrorKind,
    /// The error of the transport, if it came from one.
    pub source: Option<Box<RequestError>>,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UpstreamErrorKind {
    /// The server is not connected, and one attempt to connect did not succeed.
    #[error("the server is not connected ({})", status.as_str())]
    Unavailable { status: Box<ServerStatus> },
    /// MCP is switched off; nothing was sent.
    #[error("MCP is switched off")]
    SwitchedOff,
    /// The time limit was reached.
    #[error("the server did not answer within {} s", after.as_secs())]
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
    /// Cancelled by the caller, together with all other calls, or by a shutdown.
    #[error("the call was cancelled")]
    Cancelled,
    /// The connection ended during the call, or belongs to another generation than the call was
    /// meant for.
    #[error("the connection ended: {reason}")]
    Closed { reason: UserText },
    /// The session had expired on the server, which did not process the request. One retry is safe.
    #[error("the server no longer knew the session")]
    SessionLost,
    /// The server requires the user to sign in.
    #[error("the server wants you to sign in")]
    NeedsAuth {
        /// Authorization server, if the server names one.
        issuer: Option<String>,
    },
    /// Any other failure of the transport.
    #[error("{message}")]
    Transport {
        failure: FailureKind,
        /// Message for the user.
        message: UserText,
    },
}

impl From<UpstreamErrorKind> for UpstreamError {
    fn from(kind: UpstreamErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl From<RequestError> for UpstreamError {
    fn from(error: RequestError) -> Self {
        let kind = match &error {
            RequestError::Closed(reason) => UpstreamErrorKind::Closed { reason: reason.user_text() },
            RequestError::TimedOut { after } => UpstreamErrorKind::TimedOut { after: *after },
            RequestError::Cancelled => UpstreamErrorKind::Cancelled,
            RequestError::NeedsAuth { issuer } => UpstreamErrorKind::NeedsAuth { issuer: issuer.clone() },
            RequestError::Unregistered { .. } => UpstreamErrorKind::NeedsAuth { issuer: None },
            RequestError::SessionGone => UpstreamErrorKind::SessionLost,
            other => {
                UpstreamErrorKind::Transport { failure: other.failure_kind(), message: other.user_text() }
            }
        };
        Self { kind, source: Some(Box::new(error)) }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::error::{CloseCause, CloseReason};

    #[test]
    fn removes_hidden_characters_from_messages() {
        let said = || "a\u{202e}b\u{200b} \u{1b}[31mred\u{1b}[0m".to_owned();
        let closed = CloseReason::new(CloseCause::NotProtocol(said()));
        for error in [RequestError::from(closed), RequestError::Protocol(said().into())] {
            let message = UpstreamError::from(error).to_string();
            assert!(message.contains("ab red") && !message.contains('\u{1b}'), "{message:?}");
        }
    }

    #[test]
    fn keeps_the_transports_error_as_source() {
        let error = UpstreamError::from(RequestError::Forbidden);
        assert!(
            matches!(&error.kind, UpstreamErrorKind::Transport { failure: FailureKind::Authorization, .. }),
            "{error:?}"
        );
        assert_eq!(error.to_string(), RequestError::Forbidden.to_string());
        assert!(error.source().is_some());
        assert!(UpstreamError::from(UpstreamErrorKind::SwitchedOff).source().is_none());
    }
}
