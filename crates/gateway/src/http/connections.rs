//! Accepts connections and serves HTTP/1.1 on them.
//!
//! The number of connections ([`crate::http::connection_limits`]) and the time that a client may take to send a
//! request head are bounded.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::connection_limits::{ConnectionLimitSlot, ConnectionLimits};
use crate::http::handler::{ClientConnection, HttpHandler};
use crate::http::peer_process::ConnectionPeer;

/// Time limit for reading a request head. Also limits how long an idle connection stays open between
/// requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit from accepting a connection to reading a valid client token. Only the head of the first request
/// has to arrive within it.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause after a failed accept (no file descriptors left), so that the loop doesn't spin.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Signals that end connections.
#[derive(Clone, Default)]
pub(crate) struct ShutdownSignals {
    /// Cancelled when the gateway stops: no further connection is accepted, and open ones end after the request
    /// that they serve.
    pub(crate) stop: CancellationToken,
    /// Cancelled when connections took too long to end: they are closed.
    pub(crate) kill: CancellationToken,
}

/// Accepts connections until the gateway stops, and serves each in a task of its own.
pub(crate) async fn accept(
    listener: TcpListener,
    handler: Arc<HttpHandler>,
    tasks: TaskTracker,
    signals: ShutdownSignals,
) {
    let limits = Arc::new(ConnectionLimits::default());
    loop {
        let next = async {
            limits.wait_for_room().await;
            match listener.accept().await {
                Ok((stream, _)) => Some(stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    None
                }
            }
        };
        tokio::select! {
            () = signals.stop.cancelled() => return,
            accepted = next => if let Some(stream) = accepted {
                tasks.spawn(serve(stream, Arc::clone(&handler), signals.clone(), limits.register()));
            },
        }
    }
}

async fn serve(
    stream: TcpStream,
    handler: Arc<HttpHandler>,
    signals: ShutdownSignals,
    slot: ConnectionLimitSlot,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "writes on a connection stay delayed");
    }
    let peer = match (stream.peer_addr(), stream.local_addr()) {
        (Ok(remote), Ok(local)) => ConnectionPeer::new(remote, local),
        (Err(error), _) | (_, Err(error)) => {
            tracing::debug!(%error, "a connection was closed before it was served");
            return;
        }
    };
    let client_connection = Arc::new(ClientConnection { peer, slot });
    let service = {
        let client_connection = Arc::clone(&client_connection);
        service_fn(move |request| {
            let (handler, client_connection) = (Arc::clone(&handler), Arc::clone(&client_connection));
            async move { Ok::<_, Infallible>(handler.serve(&client_connection, request).await) }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = token_timed_out(&client_connection.slot) => {
            tracing::debug!("a connection sent no token in time");
            return;
        }
        () = signals.stop.cancelled() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = signals.kill.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Waits until an unauthenticated connection must be closed; never returns once it is authenticated. Must be
/// polled after the connection itself: polling it means that everything received so far was read.
async fn token_timed_out(slot: &ConnectionLimitSlot) {
    slot.mark_silent();
    tokio::select! {
        biased;
        () = slot.wait_until_authenticated() => std::future::pending().await,
        () = slot.wait_until_displaced() => {}
        () = tokio::time::sleep(TOKEN_TIMEOUT) => {}
    }
}
