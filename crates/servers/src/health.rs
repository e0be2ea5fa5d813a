//! The health check of a connection (SRV-7): one small request that every server must answer. It
//! returns its finding; the state machine decides what follows.

use std::time::Duration;

use gatehouse_mcp_client::{ConnectionRequest, RequestParams, ServerConnection, UpstreamError};
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
    match connection.request(ConnectionRequest::own(method(connection), RequestParams::none(), limit)).await {
        Ok(_) => HealthFinding::Answered,
        Err(UpstreamError::NeedsAuth { issuer }) => HealthFinding::Challenged { issuer },
        Err(
            UpstreamError::TimedOut { .. }
            | UpstreamError::Cancelled
            | UpstreamError::Closed { .. }
            | UpstreamError::SessionLost
            | UpstreamError::Failed { .. },
        ) => HealthFinding::Silent,
    }
}
