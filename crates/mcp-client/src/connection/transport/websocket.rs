//! A server over WebSocket (RFC 6455) with the subprotocol `mcp`: one message per text frame. The
//! opening request is sent like any other request to a remote server, so that headers,
//! authorization, proxies and statuses are handled in the same way.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::{SinkExt, StreamExt};
use gatehouse_common::random;
use gatehouse_model::{BoxFuture, message};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::line::{self, UnnegotiatedLine};
use super::remote_line::RemoteLine;
use crate::bounds;
use crate::connection::envelope;
use crate::error::CloseCause;
use crate::error::ConnectError;

/// Time limit for the closing handshake.
const GOODBYE: Duration = Duration::from_secs(1);

/// Opens the WebSocket.
pub(in crate::connection) fn open<'a>(
    remote: &'a RemoteLine<'_>,
) -> BoxFuture<'a, Result<UnnegotiatedLine, ConnectError>> {
    Box::pin(async move {
        let random: [u8; 16] = random::bytes().map_err(|error| {
            ConnectError::bad_config(message!("error.servers.config.noRandom", reason = error.to_string()))
        })?;
        let key = BASE64_STANDARD.encode(random);
        let stream = remote.endpoint.upgrade(&key, &derive_accept_key(key.as_bytes())).await?;
        let mut config = WebSocketConfig::default();
        config.max_message_size = Some(bounds::MESSAGE);
        config.max_frame_size = Some(bounds::MESSAGE);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
        Ok(line::start_carried(remote.spec, remote.inbound.clone(), |lines, transport| {
            relay(socket, lines, transport)
        }))
    })
}

/// Sends lines as frames and writes frames as lines, until either side ends.
async fn relay(
    socket: WebSocketStream<impl AsyncRead + AsyncWrite + Unpin>,
    lines: DuplexStream,
    transport: Arc<line::LineTransport>,
) -> CloseCause {
    let (mut frames_out, mut frames_in) = socket.split();
    let (lines_in, mut lines_out) = tokio::io::split(lines);
    let mut lines_in = BufReader::with_capacity(line::PIPE_BYTES, lines_in);
    let out = async {
        let mut line = Vec::new();
        loop {
            line.clear();
            match lines_in.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return CloseCause::Requested,
                Ok(_) => {}
            }
            let Ok(text) = std::str::from_utf8(line.trim_ascii_end()) else { continue };
            if let Err(error) = frames_out.send(Message::text(text)).await {
                return cause(&error);
            }
        }
    };
    let inbound_loop = async {
        loop {
            let mut bytes = match frames_in.next().await {
                Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
                Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
                Some(Ok(Message::Close(frame))) => {
                    let why = frame.map(|frame| frame.reason.to_string()).filter(|why| !why.is_empty());
                    return why.map_or_else(closed_by_server, |why| {
                        CloseCause::Broken(message!("error.servers.broken.closedSaying", reason = why).into())
                    });
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => return cause(&error),
                None => return closed_by_server(),
            };
            envelope::to_line(&mut bytes);
            if lines_out.write_all(&bytes).await.is_err() {
                return CloseCause::Requested;
            }
        }
    };
    let cause = tokio::select! {
        cause = out => cause,
        cause = inbound_loop => cause,
        () = transport.closing.close_requested() => CloseCause::Requested,
    };
    if tokio::time::timeout(GOODBYE, frames_out.close()).await.is_err() {
        tracing::debug!("a WebSocket was left without a goodbye");
    }
    cause
}

fn cause(error: &Error) -> CloseCause {
    match error {
        Error::Capacity(_) => CloseCause::TooLong(bounds::MESSAGE),
        other => CloseCause::Broken(other.to_string().into()),
    }
}

fn closed_by_server() -> CloseCause {
    CloseCause::Broken(message!("error.servers.broken.closed").into())
}
