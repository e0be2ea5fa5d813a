//! The messages of one response: a JSON body, or a stream of server-sent events.

use gatehouse_mcp_wire::sse::{SseEvent, SseParser};
use hyper::header::CONTENT_TYPE;

use super::http::{GatewayResponse, GatewayResponseBody};

/// Longest event, in bytes.
const MAX_EVENT_BYTES: usize = 256 * 1024 * 1024;

/// Whether a response is a stream of events.
pub(super) fn is_stream(response: &GatewayResponse) -> bool {
    let kind = response.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Reads events from a body.
pub(super) struct SseEventReader {
    body: GatewayResponseBody,
    parser: SseParser,
    /// Id of the last event, to resume the stream from.
    pub(super) last_id: Option<String>,
}

impl SseEventReader {
    pub(super) fn new(body: GatewayResponseBody, last_id: Option<String>) -> Self {
        Self { body, parser: SseParser::new(MAX_EVENT_BYTES), last_id }
    }

    /// The next message; `None` at the end of the stream.
    ///
    /// # Errors
    /// When the connection broke or the stream is malformed.
    pub(super) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            match self.parser.next_event().map_err(|error| error.to_string())? {
                Some(SseEvent { id, data, .. }) => {
                    if let Some(id) = id {
                        self.last_id = Some(id);
                    }
                    // An event without data only carries an id.
                    if let Some(data) = data.filter(|data| !data.is_empty()) {
                        return Ok(Some(data));
                    }
                }
                None => match self.body.chunk().await? {
                    Some(chunk) => self.parser.push(&chunk),
                    None => return Ok(None),
                },
            }
        }
    }
}
