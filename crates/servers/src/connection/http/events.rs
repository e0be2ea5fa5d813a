//! Event streams of the server's, cut to a size that cannot exhaust memory.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use sse_stream::{Sse, SseStream};

use crate::bounds;

/// Events as they come.
pub(crate) type Events = BoxStream<'static, Result<Sse, sse_stream::Error>>;

/// Why a stream of events ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The HTTP client says so.
    #[error(transparent)]
    Http(reqwest::Error),
    /// One event is too long.
    #[error("an event is longer than {} MiB", bounds::MESSAGE / (1024 * 1024))]
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
            if self.since_event > bounds::MESSAGE {
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
        self.since_event <= bounds::MESSAGE
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
        bounded.since_event = bounds::MESSAGE;
        assert!(!bounded.within(b"x"));
    }

    /// An event as it is sent, and how: line ends, blanks after the colon, comments, unknown fields.
    #[derive(Clone, Debug)]
    struct Sent {
        id: Option<String>,
        kind: Option<String>,
        data: Vec<String>,
        odd: Vec<&'static str>,
        end: &'static str,
        blank: bool,
    }

    impl Sent {
        fn text(&self) -> String {
            let colon = if self.blank { ": " } else { ":" };
            let mut out = String::new();
            let mut line = |name: &str, value: &str| {
                out.push_str(&format!("{name}{colon}{value}{}", self.end));
            };
            self.id.iter().for_each(|id| line("id", id));
            self.kind.iter().for_each(|kind| line("event", kind));
            for (at, data) in self.data.iter().enumerate() {
                line("data", data);
                if let Some(odd) = self.odd.get(at) {
                    line(odd, "x");
                }
            }
            out + self.end
        }
    }

    fn parsed(chunks: Vec<Bytes>) -> Vec<(Option<String>, Option<String>, Option<String>)> {
        let inner = futures::stream::iter(chunks.into_iter().map(Ok)).boxed();
        let bounded = Bounded { inner, since_event: 0, at_line_start: true };
        let events = SseStream::from_bytes_stream(bounded)
            .take_while(|event| std::future::ready(event.is_ok()))
            .filter_map(|event| std::future::ready(event.ok()))
            .map(|event| (event.id, event.event, event.data))
            .collect::<Vec<_>>();
        futures::executor::block_on(events)
    }

    /// Fuzz target `sse`: events come out as they were sent however the stream is cut, and of what is no
    /// stream of events no event is read otherwise because of how it is cut.
    #[test]
    fn fuzz_sse() {
        use gatehouse_fuzz::{fuzz, mutated};
        use proptest::collection::vec;
        use proptest::prelude::*;
        use proptest::sample::{Index, select};
        const TOKENS: &[&str] =
            &["\n", "\r\n", "\n\n", "data:", "data", "id:", "retry: 5", ":", "\u{0}", "\u{feff}", "é", "{}"];
        let value = "[a-c{}\"é\u{1f600}]{1,6}";
        let sent = (
            prop::option::of(value),
            prop::option::of(select(&["message", "endpoint"][..]).prop_map(str::to_owned)),
            vec(value, 1..4),
            // `sse-stream` ends a stream at a field that the specification does not name.
            vec(select(&[""][..]), 0..3),
            select(&["\n", "\r\n"][..]),
            any::<bool>(),
        )
            .prop_map(|(id, kind, data, odd, end, blank)| Sent { id, kind, data, odd, end, blank });
        let cuts = |text: &[u8], cuts: &[Index]| {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            at.windows(2).map(|pair| Bytes::copy_from_slice(&text[pair[0]..pair[1]])).collect::<Vec<_>>()
        };
        let cases = (vec(sent, 0..4), vec(any::<Index>(), 0..8)).prop_flat_map(|(sent, at)| {
            let text: String = sent.iter().map(Sent::text).collect();
            (Just(sent), Just(text.clone()), mutated(Just(text), TOKENS), Just(at))
        });
        fuzz("sse", &cases, |(sent, text, broken, at)| {
            let wanted: Vec<_> = sent
                .iter()
                .map(|one| (one.id.clone(), one.kind.clone(), Some(one.data.join("\n"))))
                .collect();
            prop_assert_eq!(parsed(cuts(text.as_bytes(), &at)), wanted);
            let whole = parsed(vec![Bytes::from(broken.clone())]);
            let cut = parsed(cuts(broken.as_bytes(), &at));
            // A line that breaks the stream may take the events before it in its chunk along, and no others.
            let both = whole.len().min(cut.len());
            prop_assert_eq!(&cut[..both], &whole[..both]);
            for (_, _, data) in whole {
                if let Ok(parts) = crate::connection::envelope::split(data.unwrap_or_default().as_bytes()) {
                    parts.into_iter().for_each(|part| drop(crate::connection::envelope::read(part)));
                }
            }
            Ok(())
        })
        .unwrap();
    }
}
