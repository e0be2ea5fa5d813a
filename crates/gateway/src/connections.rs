//! Accepts connections and serves HTTP/1.1 on them.
//!
//! The number of connections is bounded, and so is the time that a client may take to say what it wants.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::gateway::Core;
use crate::intake;
use crate::seen::Ends;

/// Most connections at a time; further ones wait to be accepted.
const MOST: usize = 256;

/// How long the head of a request may take, and how long a connection may stay open without one.
const HEAD: Duration = Duration::from_secs(10);

/// After an accept that failed (no file descriptors left), so that the loop does not spin.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts until the gateway stops.
pub(crate) async fn accept(
    listener: TcpListener,
    core: Arc<Core>,
    tasks: TaskTracker,
    kill: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            match listener.accept().await {
                Ok((stream, _)) => Some((stream, place)),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                    None
                }
            }
        };
        tokio::select! {
            () = core.stop.cancelled() => return,
            accepted = next => if let Some((stream, place)) = accepted {
                tasks.spawn(serve(stream, Arc::clone(&core), kill.clone(), place));
            },
        }
    }
}

async fn serve(stream: TcpStream, core: Arc<Core>, kill: CancellationToken, place: OwnedSemaphorePermit) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays with delayed writes");
    }
    let ends = match (stream.peer_addr(), stream.local_addr()) {
        (Ok(far), Ok(near)) => Arc::new(Ends::new(far, near)),
        (Err(error), _) | (_, Err(error)) => {
            tracing::debug!(%error, "a connection was gone before it began");
            return;
        }
    };
    let stop = core.stop.clone();
    let service = service_fn(move |request| {
        let (core, ends) = (Arc::clone(&core), Arc::clone(&ends));
        async move { Ok::<_, Infallible>(intake::serve(core, &ends, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
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
    drop(place);
}
