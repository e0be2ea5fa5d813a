//! The `Accept` header: whether a client reads JSON, event streams, or both.

use hyper::header::{ACCEPT, HeaderMap};

/// The response types that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepts {
    /// `application/json`
    pub(crate) json: bool,
    /// `text/event-stream`; only if it is named explicitly, not by a wildcard.
    pub(crate) events: bool,
}

impl Accepts {
    /// Parses the `Accept` header. Without one, JSON is accepted.
    pub(crate) fn parse(headers: &HeaderMap) -> Self {
        let mut accepts = Self { json: !headers.contains_key(ACCEPT), events: false };
        for value in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
            for range in value.split(',') {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                if parts.any(is_zero_weight) {
                    continue;
                }
                accepts.json |= ["application/json", "application/*", "*/*"]
                    .iter()
                    .any(|name| kind.eq_ignore_ascii_case(name));
                accepts.events |= kind.eq_ignore_ascii_case("text/event-stream");
            }
        }
        accepts
    }
}

fn is_zero_weight(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0f32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requires_event_stream_named_in_accept() {
        for (accept, json, events) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream", false, true),
            ("application/json", true, false),
            ("*/*", true, false),
            ("text/event-stream;q=0, application/json;q=0.5", true, false),
            ("Text/Event-Stream; charset=utf-8", false, true),
            ("text/html", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(Accepts::parse(&headers), Accepts { json, events }, "{accept}");
        }
        assert_eq!(Accepts::parse(&HeaderMap::new()), Accepts { json: true, events: false });
    }
}
