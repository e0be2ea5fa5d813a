//! The health check of a connection (SRV-7): one small request that every server must answer. It
//! returns its finding; the state machine decides what follows.

use std::time::Duration;

use gatehouse_mcp_client::{CallLimit, RequestParams, ServerConnection, UpstreamErrorKind, UpstreamRequest};
use gatehouse_mcp_wire::ProtocolFamily;

/// The check on the stateful revisions.
pub(crate) const PING: &str = "ping";

/// The check on the stateless revision.
pub(crate) const DISCOVER: &str = "server/discover";

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HealthFinding {
    /// The server responded, possibly with an error.
    Answered,
    /// No response.
    Silent,
    /// The server requires the user to sign in.
    Challenged {
        /// Authorization server, if the server names one.
        issuer: Option<String>,
    },
}

/// The method that this connection is checked with.
pub(crate) fn method(connection: &dyn ServerConnection) -> &'static str {
    match connection.handshake().protocol_family {
        ProtocolFamily::Stateful => PING,
        ProtocolFamily::Stateless => DISCOVER,
    }
}

/// Runs one check.
pub(crate) async fn check(connection: &dyn ServerConnection, limit: Duration) -> HealthFinding {
    let request = UpstreamRequest::new(method(connection), RequestParams::none());
    match connection.request(request, CallLimit::total(limit)).await.map_err(|error| error.kind) {
        Ok(_) => HealthFinding::Answered,
        Err(UpstreamErrorKind::NeedsAuth { issuer }) => HealthFinding::Challenged { issuer },
        Err(
            UpstreamErrorKind::Unavailable { .. }
            | UpstreamErrorKind::SwitchedOff
            | UpstreamErrorKind::TimedOut { .. }
            | UpstreamErrorKind::Cancelled
            | UpstreamErrorKind::Closed { .. }
            | UpstreamErrorKind::SessionLost
            | UpstreamErrorKind::Transport { .. },
        ) => HealthFinding::Silent,
    }
}
