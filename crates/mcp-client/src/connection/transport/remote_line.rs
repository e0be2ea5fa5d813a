//! Line transports to a server at an address, HTTP+SSE and WebSocket. They differ in how they open the stream that carries
//! the lines; requests to the address are the same as for Streamable HTTP.

use std::sync::Arc;

use gatehouse_model::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::line::{self, LineConnector, UnnegotiatedLine};
use super::streamable_http;
use super::streamable_http::endpoint::Endpoint;
use crate::connection::{ConnectSpec, Connection, Inbound};
use crate::error::ConnectError;

/// Opens the stream and starts the task that carries the lines, with [`line::start_carried`].
type OpenRemoteLine = for<'a> fn(&'a RemoteLine<'_>) -> BoxFuture<'a, Result<UnnegotiatedLine, ConnectError>>;

/// A server at an address, to which lines can be carried.
pub(in crate::connection) struct RemoteLine<'s> {
    pub(super) spec: &'s ConnectSpec,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) inbound: mpsc::Sender<Inbound>,
    open: OpenRemoteLine,
}

impl LineConnector for RemoteLine<'_> {
    fn open(&self) -> BoxFuture<'_, Result<UnnegotiatedLine, ConnectError>> {
        (self.open)(self)
    }
}

/// Connects and shakes hands over a transport that `open` opens.
pub(in crate::connection) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
    open: OpenRemoteLine,
) -> Result<Connection, ConnectError> {
    let endpoint = streamable_http::prepare_endpoint(spec).await?;
    line::connect(spec, &RemoteLine { spec, endpoint, inbound, open }, cancel).await
}
