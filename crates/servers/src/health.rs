//! The health check of a connection (SRV-7): one small request that every server has to answer. It
//! says what it found; what follows is not decided here.

use std::time::Duration;

use crate::actor::link::{Link, LinkError, LinkRequest};
use crate::connection::Era;
use crate::outgoing::OutgoingParams;

/// The check of the stateful revisions.
pub(crate) const PING: &str = "ping";

/// The check of the stateless revision.
pub(crate) const DISCOVER: &str = "server/discover";

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// An answer, be it an error: somebody is there.
    Answered,
    /// None.
    Silent,
    /// The server wants the user to sign in.
    Challenged {
        /// Authorization server, where known.
        issuer: Option<String>,
    },
}

/// The request that this connection is checked with.
pub(crate) fn method(link: &dyn Link) -> &'static str {
    match link.handshake().era {
        Era::Stateful => PING,
        Era::Stateless => DISCOVER,
    }
}

/// Checks once.
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
