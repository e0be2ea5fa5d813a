//! The `Accept` header: whether a client reads JSON, event streams, or both.

use hyper::header::{ACCEPT, HeaderMap};

/// The response types that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepts {
    /// `application/json`
    pub(crate) json: bool,
    /// `text/event-stream`; only if it is named explicitly, not by a wildcard.
    pub(crate) events: bool,
    /// Whether an event stream is preferred to JSON: by its weight or, if that is the same, by being named first.
    pub(crate) prefers_events: bool,
}

impl Accepts {
    /// Parses the `Accept` header. Without one, JSON is accepted.
    pub(crate) fn parse(headers: &HeaderMap) -> Self {
        let mut json = (!headers.contains_key(ACCEPT)).then_some(1.0);
        let mut events: Option<f32> = None;
        let mut is_events_first = false;
        for value in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
            for range in value.split(',') {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default();
                let weight = parts.find_map(weight).unwrap_or(1.0);
                if weight <= 0.0 {
                    continue;
                }
                if ["application/json", "application/*", "*/*"]
                    .iter()
                    .any(|name| kind.eq_ignore_ascii_case(name))
                {
                    json = Some(json.map_or(weight, |other| weight.max(other)));
                } else if kind.eq_ignore_ascii_case("text/event-stream") {
                    is_events_first |= json.is_none();
                    events = Some(events.map_or(weight, |other| weight.max(other)));
                }
            }
        }
        let prefers_events = match (json, events) {
            (Some(json), Some(events)) => events > json || is_events_first && events >= json,
            (None, Some(_)) => true,
            (Some(_) | None, None) => false,
        };
        Self { json: json.is_some(), events: events.is_some(), prefers_events }
    }
}

/// The value of the parameter `q`.
fn weight(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_accepted_and_preferred_types() {
        for (accept, json, events, prefers_events) in [
            ("application/json, text/event-stream", true, true, false),
            ("text/event-stream, application/json", true, true, true),
            ("application/json;q=0.5, text/event-stream", true, true, true),
            ("text/event-stream;q=0.5, application/json", true, true, false),
            ("text/event-stream, */*;q=0.1", true, true, true),
            ("text/event-stream", false, true, true),
            ("application/json", true, false, false),
            ("*/*", true, false, false),
            ("text/event-stream;q=0, application/json;q=0.5", true, false, false),
            ("Text/Event-Stream; charset=utf-8", false, true, true),
            ("text/html", false, false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(Accepts::parse(&headers), Accepts { json, events, prefers_events }, "{accept}");
        }
        assert_eq!(
            Accepts::parse(&HeaderMap::new()),
            Accepts { json: true, events: false, prefers_events: false }
        );
    }
}
