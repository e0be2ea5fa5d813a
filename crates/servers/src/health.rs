//! The health check of a connection (SRV-7): one small request that every server must answer. It
//! returns its finding; the state machine decides what follows.

use std::time::Duration;

use crate::actor::link::{Link, LinkError, LinkRequest};
use crate::connection::Era;
use crate::outgoing::OutgoingParams;

/// The check on the stateful revisions.
pub(crate) const PING: &str = "ping";

/// The check on the stateless revision.
pub(crate) const DISCOVER: &str = "server/discover";

/// Finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
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
pub(crate) fn method(link: &dyn Link) -> &'static str {
    match link.handshake().era {
        Era::Stateful => PING,
        Era::Stateless => DISCOVER,
    }
}

/// Runs one check.
pub(crate) async fn check(link: &dyn Link, limit: Duration) -> Finding {
    match link.request(LinkRequest::own(method(link), OutgoingParams::none(), limit)).await {
        Ok(_) => Finding::Answered,
        Err(LinkError::NeedsAuth { issuer }) => Finding::Challenged { issuer },
        Err(
            LinkError::TimedOut { .. }
            | LinkError::Cancelled
            | LinkError::Closed { .. }
            | LinkError::SessionLost
            | LinkError::Failed { .. },
        ) => Finding::Silent,
    }
}
