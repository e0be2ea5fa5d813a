//! Accepts connections and serves HTTP/1.1 on them.
//!
//! The number of connections ([`crate::connection_limits`]) and the time that a client may take to send a
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

use crate::connection_limits::{ConnectionLimits, Place};
use crate::gateway::Core;
use crate::intake;
use crate::seen::Ends;

/// Time limit for reading a request head. Also limits how long an idle connection stays open between
/// requests.
const HEAD: Duration = Duration::from_secs(10);

/// Time limit from accepting a connection to reading a valid client token. Only the head of the first request
/// has to arrive within it.
const TOKEN: Duration = Duration::from_secs(5);

/// Pause after a failed accept (no file descriptors left), so that the loop doesn't spin.
const BREATH: Duration = Duration::from_millis(50);

/// One connection, authenticated or not.
pub(crate) struct Connection {
    /// The two socket addresses.
    pub(crate) ends: Ends,
    /// Its slot in the connection limits.
    pub(crate) place: Place,
}

/// Accepts connections until the gateway stops.
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

/// Waits until an unauthenticated connection must be closed; never returns once it is authenticated. Must be
/// polled after the connection itself: polling it means that everything received so far was read.
async fn no_token(place: &Place) {
    place.is_silent();
    tokio::select! {
        biased;
        () = place.recognised() => std::future::pending().await,
        () = place.displaced() => {}
        () = tokio::time::sleep(TOKEN) => {}
    }
}
