//! The one place where a transport is chosen: the real connections and the built-in servers, both as
//! [`Link`]s. It opens and translates; it never retries.

use std::sync::Arc;

use gatehouse_model::status::FailureKind;
use gatehouse_model::{BoxFuture, Transport};

use super::link::{ConnectOrder, Connector, Link, LinkEnd, LinkError, LinkRequest};
use crate::builtin::{BuiltinLink, BuiltinPlace};
use crate::connection::{
    ConnectDeps, ConnectError, ConnectSpec, Connection, Handshake, Outgoing, RequestError, connect,
};
use crate::outgoing::Reply;
use crate::transition::Failure;

/// Connects to servers of every kind that this version can run.
pub(crate) struct Transports {
    /// What real connections need.
    pub(crate) deps: Arc<ConnectDeps>,
    /// What built-in servers need.
    pub(crate) place: Arc<BuiltinPlace>,
}

impl Connector for Transports {
    fn connect(&self, order: ConnectOrder) -> BoxFuture<'_, Result<Arc<dyn Link>, Failure>> {
        Box::pin(async move {
            let ConnectOrder { config, lifecycle, inbound, cancel } = order;
            match &config.transport {
                Transport::Stdio { .. } | Transport::Http { .. } => {
                    let spec = ConnectSpec { config, deps: Arc::clone(&self.deps), lifecycle };
                    let connection = connect(&spec, inbound, &cancel).await?;
                    Ok(Arc::new(connection) as Arc<dyn Link>)
                }
                Transport::Builtin { builtin } => {
                    let link = BuiltinLink::open(builtin, &self.place).await?;
                    Ok(Arc::new(link) as Arc<dyn Link>)
                }
                kind @ (Transport::Sse { .. } | Transport::Ws { .. }) => Err(Failure::Error {
                    kind: FailureKind::Configuration,
                    message: format!(
                        "Servers of the kind \"{}\" cannot be run by this version yet. Use the kind \"http\" if the \
                         server offers Streamable HTTP.",
                        kind.kind()
                    ),
                }),
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
            let LinkRequest { method, params, progress, limit, cancel } = request;
            let outgoing = Outgoing { method, params, progress, limit, cancel };
            Connection::request(self, outgoing).await.map_err(LinkError::from)
        })
    }

    fn closed(&self) -> BoxFuture<'_, LinkEnd> {
        Box::pin(async move {
            let reason = Connection::closed(self).await;
            LinkEnd { kind: reason.failure(), reason: reason.to_string() }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(Connection::close(self))
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            other => Self::Error { kind: other.failure(), message: other.to_string() },
        }
    }
}

impl From<RequestError> for LinkError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Closed { reason },
            RequestError::TimedOut { after } => Self::TimedOut { after },
            RequestError::Cancelled => Self::Cancelled,
            RequestError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            other => Self::Failed { kind: other.failure(), message: other.to_string() },
        }
    }
}
