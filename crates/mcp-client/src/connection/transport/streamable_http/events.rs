//! Event streams of a server, with a limit on the size of an event so that it cannot exhaust
//! memory.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use gatehouse_mcp_wire::sse::{SseError, SseEvent, SseParser};
use sse_stream::Sse;

use crate::bounds;

/// Events in the types that rmcp's client takes.
pub(crate) type Events = BoxStream<'static, Result<Sse, sse_stream::Error>>;

/// Why an event stream ended.
#[derive(Debug, thiserror::Error)]
enum EventStreamError {
    #[error(transparent)]
    Http(reqwest::Error),
    #[error(transparent)]
    Parse(SseError),
}

/// Reads the body of a response as events.
pub(super) fn from_response(response: reqwest::Response) -> Events {
    SseStream::new(response.bytes_stream().boxed()).boxed()
}

struct SseStream {
    /// `None` after its end.
    body: Option<BoxStream<'static, Result<Bytes, reqwest::Error>>>,
    parser: SseParser,
}

impl SseStream {
    fn new(body: BoxStream<'static, Result<Bytes, reqwest::Error>>) -> Self {
        Self { body: Some(body), parser: SseParser::new(bounds::MESSAGE) }
    }
}

impl Stream for SseStream {
    type Item = Result<Sse, sse_stream::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let broken = |error| Poll::Ready(Some(Err(sse_stream::Error::Body(Box::new(error)))));
        loop {
            match (this.parser.next_event(), &mut this.body) {
                (Ok(Some(SseEvent { id, event, data, retry })), _) => {
                    return Poll::Ready(Some(Ok(Sse { id, event, data, retry })));
                }
                (_, None) => return Poll::Ready(None),
                (Err(fault), Some(_)) => {
                    this.body = None;
                    return broken(EventStreamError::Parse(fault));
                }
                (Ok(None), Some(body)) => match ready!(body.poll_next_unpin(cx)) {
                    Some(Ok(chunk)) => this.parser.push(&chunk),
                    Some(Err(error)) => {
                        this.body = None;
                        return broken(EventStreamError::Http(error));
                    }
                    None => {
                        this.body = None;
                        this.parser.finish();
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event and how it is encoded: line ends, spaces after the colon, comments, unknown fields.
    #[derive(Clone, Debug)]
    struct SentEvent {
        id: Option<String>,
        kind: Option<String>,
        data: Vec<String>,
        odd: Vec<&'static str>,
        end: &'static str,
        blank: bool,
    }

    impl SentEvent {
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
        let events = SseStream::new(inner)
            .take_while(|event| std::future::ready(event.is_ok()))
            .filter_map(|event| std::future::ready(event.ok()))
            .map(|event| (event.id, event.event, event.data))
            .collect::<Vec<_>>();
        futures::executor::block_on(events)
    }

    /// Fuzz target `sse`: events are parsed as they were sent, however the stream is split into
    /// chunks; and for input that is no event stream, the result doesn't depend on the split.
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
            vec(select(&["", "x", "DATA", "idd"][..]), 0..3),
            select(&["\n", "\r\n", "\r"][..]),
            any::<bool>(),
        )
            .prop_map(|(id, kind, data, odd, end, blank)| SentEvent {
                id,
                kind,
                data,
                odd,
                end,
                blank,
            });
        let cuts = |text: &[u8], cuts: &[Index]| {
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            at.windows(2).map(|pair| Bytes::copy_from_slice(&text[pair[0]..pair[1]])).collect::<Vec<_>>()
        };
        let cases = (vec(sent, 0..4), vec(any::<Index>(), 0..8)).prop_flat_map(|(sent, at)| {
            let text: String = sent.iter().map(SentEvent::text).collect();
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
            prop_assert_eq!(&cut, &whole);
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
