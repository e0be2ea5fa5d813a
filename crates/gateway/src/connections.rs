//! Accepts connections and serves HTTP/1.1 on them.
//!
//! The number of connections is bounded ([`crate::connection_limits`]), and so is the time that a client may take to
//! say what it wants.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection_limits::{ConnectionLimits, Place};
use crate::gateway::Core;
use crate::intake;
use crate::seen::Ends;

/// How long the head of a request may take, and how long a connection may stay open without one.
const HEAD: Duration = Duration::from_secs(10);

/// How long a connection may take in all to show the token of a client. Nothing else than the head of its
/// first request has to come within it.
const TOKEN: Duration = Duration::from_secs(5);

/// After an accept that failed (no file descriptors left), so that the loop does not spin.
const BREATH: Duration = Duration::from_millis(50);

/// One connection of a client, or of somebody who has not said yet who they are.
pub(crate) struct Connection {
    /// Its two ends.
    pub(crate) ends: Ends,
    /// Its place among all connections.
    pub(crate) place: Place,
}

/// Accepts until the gateway stops.
pub(crate) async fn accept(
    listener: TcpListener,
    core: Arc<Core>,
    tasks: TaskTracker,
    kill: CancellationToken,
) {
    let limits = Arc::new(ConnectionLimits::default());
    loop {
        let next = async {
            limits.room().await;
            match listener.accept().await {
                Ok((stream, _)) => Some(stream),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                    None
                }
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            accepted = next => if let Some(stream) = accepted {
                tasks.spawn(serve(stream, Arc::clone(&core), kill.clone(), limits.enter()));
            },
        }
    }
}

async fn serve(stream: TcpStream, core: Arc<Core>, kill: CancellationToken, place: Place) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays with delayed writes");
    }
    let ends = match (stream.peer_addr(), stream.local_addr()) {
        (Ok(far), Ok(near)) => Ends::new(far, near),
        (Err(error), _) | (_, Err(error)) => {
            tracing::debug!(%error, "a connection was gone before it began");
            return;
        }
    };
    let own = Arc::new(Connection { ends, place });
    let stop = core.stop.clone();
    let service = {
        let own = Arc::clone(&own);
        service_fn(move |request| {
            let (core, own) = (Arc::clone(&core), Arc::clone(&own));
            async move { Ok::<_, Infallible>(intake::serve(core, &own, request).await) }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = no_token(&own.place) => {
            tracing::debug!("a connection showed no token in time");
            return;
        }
        () = stop.cancelled() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = kill.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// Waits until a connection without a token has to go. Once it has shown one this waits for ever. Polled
/// after the connection itself was.
async fn no_token(place: &Place) {
    place.is_silent();
    tokio::select! {
        biased;
        () = place.recognised() => std::future::pending().await,
        () = place.displaced() => {}
        () = tokio::time::sleep(TOKEN) => {}
    }
}
