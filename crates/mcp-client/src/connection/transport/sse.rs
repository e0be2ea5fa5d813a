//! A server over HTTP+SSE, the transport of revision 2024-11-05: messages arrive on one event
//! stream, whose first event names the URL to which messages are POSTed. That URL must have the
//! same origin.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use gatehouse_model::{BoxFuture, Message, message};
use http::HeaderMap;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use url::Url;

use super::line::{self, UnnegotiatedLine};
use super::remote_line::RemoteLine;
use super::streamable_http::endpoint::Endpoint;
use super::streamable_http::events::Events;
use crate::connection::envelope;
use crate::error::CloseCause;
use crate::error::{ConnectError, RequestError};

/// A POST that takes longer no longer delays the next one: some servers respond only when the work
/// is done.
const IN_ORDER: Duration = Duration::from_secs(1);

/// Opens the stream of events and waits for the URL for messages.
pub(in crate::connection) fn open<'a>(
    remote: &'a RemoteLine<'_>,
) -> BoxFuture<'a, Result<UnnegotiatedLine, ConnectError>> {
    Box::pin(async move {
        let endpoint = Arc::clone(&remote.endpoint);
        let events = endpoint.stream().await?;
        let (address, events) = message_address(&endpoint, events).await?;
        Ok(line::start_carried(remote.spec, remote.inbound.clone(), |lines, _| {
            relay(endpoint, address, events, lines)
        }))
    })
}

/// Waits for the `endpoint` event, which names the URL for messages.
async fn message_address(endpoint: &Endpoint, mut events: Events) -> Result<(Url, Events), ConnectError> {
    let wrong = |how: Message| ConnectError::Request(RequestError::protocol(how));
    loop {
        let event = match events.next().await {
            Some(Ok(event)) => event,
            Some(Err(error)) => {
                let reason = error.to_string();
                return Err(wrong(message!("error.servers.protocol.eventsBroke", reason = reason)));
            }
            None => return Err(wrong(message!("error.servers.protocol.noAddress"))),
        };
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let address = event.data.unwrap_or_default();
        let base = endpoint.address();
        let address =
            base.join(address.trim()).map_err(|_| wrong(message!("error.servers.protocol.badAddress")))?;
        if address.origin() != base.origin() {
            return Err(wrong(message!("error.servers.protocol.otherHost")));
        }
        return Ok((address, events));
    }
}

/// Sends lines as POSTs and writes events as lines, until either side ends.
async fn relay(endpoint: Arc<Endpoint>, address: Url, mut events: Events, lines: DuplexStream) -> CloseCause {
    let (lines_in, mut lines_out) = tokio::io::split(lines);
    let mut lines_in = BufReader::with_capacity(line::PIPE_BYTES, lines_in);
    let out = async {
        let mut slow = FuturesUnordered::new();
        loop {
            let mut line = Vec::new();
            {
                let mut reading = pin!(lines_in.read_until(b'\n', &mut line));
                loop {
                    tokio::select! {
                        read = &mut reading => match read {
                            Ok(0) | Err(_) => return CloseCause::Requested,
                            Ok(_) => break,
                        },
                        Some(failed) = slow.next() => if let Some(cause) = failed { return cause },
                    }
                }
            }
            let (endpoint, address) = (Arc::clone(&endpoint), address.clone());
            let mut sending =
                async move { close_cause(endpoint.post_to(address, line, HeaderMap::new()).await) }.boxed();
            match tokio::time::timeout(IN_ORDER, &mut sending).await {
                Ok(Some(cause)) => return cause,
                Ok(None) => {}
                Err(_) => slow.push(sending),
            }
        }
    };
    let inbound_loop = async {
        loop {
            match events.next().await {
                Some(Ok(event)) => {
                    let Some(data) = event.data.filter(|_| is_message(event.event.as_deref())) else {
                        continue;
                    };
                    let mut bytes = data.into_bytes();
                    envelope::to_line(&mut bytes);
                    if lines_out.write_all(&bytes).await.is_err() {
                        return CloseCause::Requested;
                    }
                }
                Some(Err(error)) => return CloseCause::Broken(error.to_string().into()),
                None => return CloseCause::Broken(message!("error.servers.broken.streamEnded").into()),
            }
        }
    };
    tokio::select! {
        cause = out => cause,
        cause = inbound_loop => cause,
    }
}

fn is_message(event: Option<&str>) -> bool {
    matches!(event, None | Some("" | "message"))
}

fn close_cause(sent: Result<(), RequestError>) -> Option<CloseCause> {
    sent.err().map(CloseCause::Refused)
}
