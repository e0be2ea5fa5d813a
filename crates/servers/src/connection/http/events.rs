//! Event streams of the server's, cut to a size that cannot exhaust memory.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use sse_stream::{Sse, SseStream};

use super::LONGEST_BODY;

/// Events as they come.
pub(crate) type Events = BoxStream<'static, Result<Sse, sse_stream::Error>>;

/// Why a stream of events ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The HTTP client says so.
    #[error(transparent)]
    Http(reqwest::Error),
    /// One event is too long.
    #[error("an event is longer than {} MiB", LONGEST_BODY / (1024 * 1024))]
    TooLong,
}

/// Reads the body of a response as events.
pub(super) fn of_response(response: reqwest::Response) -> Events {
    let bounded = Bounded { inner: response.bytes_stream().boxed(), since_event: 0, at_line_start: true };
    SseStream::from_bytes_stream(bounded).boxed()
}

struct Bounded {
    inner: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    since_event: usize,
    at_line_start: bool,
}

impl Bounded {
    /// Counts the bytes since the last empty line; `false` when they are too many.
    fn within(&mut self, chunk: &[u8]) -> bool {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = rest.get(..end).unwrap_or_default();
            let empty = self.at_line_start && matches!(line, b"" | b"\r");
            self.since_event = if empty { 0 } else { self.since_event + end + 1 };
            if self.since_event > LONGEST_BODY {
                return false;
            }
            self.at_line_start = true;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        if !rest.is_empty() {
            // A carriage return alone at the end of a chunk may still be an empty line's.
            self.at_line_start = self.at_line_start && rest == b"\r";
            self.since_event += rest.len();
        }
        self.since_event <= LONGEST_BODY
    }
}

impl Stream for Bounded {
    type Item = Result<Bytes, Broken>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        this.inner.poll_next_unpin(cx).map(|item| {
            Some(match item? {
                Ok(chunk) if this.within(&chunk) => Ok(chunk),
                Ok(_) => {
                    this.inner = futures::stream::empty().boxed();
                    Err(Broken::TooLong)
                }
                Err(error) => Err(Broken::Http(error)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_begins_the_count_anew() {
        let mut bounded =
            Bounded { inner: futures::stream::empty().boxed(), since_event: 0, at_line_start: true };
        assert!(bounded.within(b"data: 1234\n"));
        assert_eq!(bounded.since_event, 11);
        assert!(bounded.within(b"\r"));
        assert!(bounded.within(b"\ndata"));
        assert_eq!(bounded.since_event, 4);
        bounded.since_event = LONGEST_BODY;
        assert!(!bounded.within(b"x"));
    }
}
