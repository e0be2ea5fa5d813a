//! Incremental parser of server-sent events (WHATWG HTML, "Interpreting an event stream").
//!
//! The memory for one event is limited. Events that are complete before a fault are still returned,
//! however the stream was cut into chunks.

use std::collections::VecDeque;

/// One event. A field that was not sent is `None`. The HTML specification dispatches only events with
/// data, but MCP also uses the `id` of an event without data (2025-11-25, "Resumability and
/// Redelivery").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The id for `Last-SseEvent-ID`, to resume the stream.
    pub id: Option<String>,
    /// The event type; `message` if absent.
    pub event: Option<String>,
    /// The data lines, joined by line feeds.
    pub data: Option<String>,
    /// Reconnection time in milliseconds.
    pub retry: Option<u64>,
}

/// Why the rest of a stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is longer than the limit.
    #[error("an event is longer than {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// A field is not UTF-8. Replacing invalid bytes, as browsers do, would change a message silently.
    #[error("an event is not UTF-8")]
    NotUtf8,
}

/// Parses one stream.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The start of an incomplete line.
    line: Vec<u8>,
    /// Bytes taken by `current`.
    kept: usize,
    current: Option<SseEvent>,
    ready: VecDeque<SseEvent>,
    fault: Option<SseError>,
    is_first_line: bool,
    /// Whether the last byte was a carriage return: a following line feed does not end another line.
    is_after_return: bool,
}

impl SseParser {
    /// A parser for a stream whose events take at most `limit` bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            kept: 0,
            current: None,
            ready: VecDeque::new(),
            fault: None,
            is_first_line: true,
            is_after_return: false,
        }
    }

    /// Parses the next bytes. After a fault they are ignored.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let (Some(&first), None) = (rest.first(), self.fault) {
            if std::mem::take(&mut self.is_after_return) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if self.kept + self.line.len() + part.len() > self.limit {
                self.fail(SseError::TooLong { limit: self.limit });
                return;
            }
            let Some(end) = end else {
                self.line.extend_from_slice(part);
                return;
            };
            self.is_after_return = rest.get(end) == Some(&b'\r');
            rest = rest.get(end + 1..).unwrap_or_default();
            if self.line.is_empty() {
                self.end_line(part);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(part);
                self.end_line(&line);
            }
        }
    }

    /// The next complete event, or the fault that ended the stream.
    ///
    /// # Errors
    /// [`SseError`], after every event that was complete before it.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, SseError> {
        match self.ready.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.fault.map_or(Ok(None), Err),
        }
    }

    /// Marks the end of the stream. An event whose lines are complete is returned even without the empty
    /// line at its end, which some servers leave out.
    pub fn finish(&mut self) {
        self.line.clear();
        if self.fault.is_none() {
            self.dispatch();
        }
    }

    fn fail(&mut self, fault: SseError) {
        self.fault = Some(fault);
        self.line = Vec::new();
        self.current = None;
    }

    fn dispatch(&mut self) {
        self.kept = 0;
        self.ready.extend(self.current.take());
    }

    fn end_line(&mut self, line: &[u8]) {
        let line = if std::mem::take(&mut self.is_first_line) {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => line.split_at(colon),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if !matches!(name, b"data" | b"event" | b"id" | b"retry") {
            return;
        }
        let Ok(value) = std::str::from_utf8(value) else {
            self.fail(SseError::NotUtf8);
            return;
        };
        // An `id` that contains NUL and a `retry` that is not a number are ignored.
        let retry = value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten();
        if (name == b"id" && value.contains('\0')) || (name == b"retry" && retry.is_none()) {
            return;
        }
        self.kept += value.len() + 1;
        let event = self.current.get_or_insert_default();
        match name {
            b"data" => match &mut event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => event.data = Some(value.to_owned()),
            },
            b"event" => event.event = Some(value.to_owned()),
            b"id" => event.id = Some(value.to_owned()),
            _ => event.retry = retry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, kind: Option<&str>, data: Option<&str>) -> SseEvent {
        let own = |text: Option<&str>| text.map(str::to_owned);
        SseEvent { id: own(id), event: own(kind), data: own(data), retry: None }
    }

    fn read(chunks: &[&[u8]], limit: usize) -> (Vec<SseEvent>, Option<SseError>) {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        let mut drain = |parser: &mut SseParser| loop {
            match parser.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break None,
                Err(fault) => break Some(fault),
            }
        };
        for chunk in chunks {
            parser.push(chunk);
            if let Some(fault) = drain(&mut parser) {
                return (events, Some(fault));
            }
        }
        parser.finish();
        let fault = drain(&mut parser);
        (events, fault)
    }

    #[test]
    fn reads_lines_as_the_specification_says() {
        let data = |data: &str| event(None, None, Some(data));
        let rows: &[(&str, Vec<SseEvent>)] = &[
            ("data: a\n\n", vec![data("a")]),
            ("data:a\r\rdata:b\r\n\r\n", vec![data("a"), data("b")]),
            ("data:  a\n\n", vec![data(" a")]),
            ("data\n\n", vec![data("")]),
            ("data: a\ndata\ndata: b\n\n", vec![data("a\n\nb")]),
            ("\u{feff}data: a\n\n", vec![data("a")]),
            ("\u{feff}\u{feff}data: a\n\n", vec![]),
            (": comment\n\ndata: a\n\n", vec![data("a")]),
            ("foo: 1\nDATA: x\ndata: a\nbar\n\n", vec![data("a")]),
            ("id: 1\nevent: x\ndata: a\n\n", vec![event(Some("1"), Some("x"), Some("a"))]),
            ("id: 1\nid: 2\nevent: x\nevent: y\n\n", vec![event(Some("2"), Some("y"), None)]),
            ("id: 1\n\n", vec![event(Some("1"), None, None)]),
            ("id: a\0b\ndata: a\n\n", vec![data("a")]),
            ("retry: 1s\ndata: a\n\n", vec![data("a")]),
            ("retry:\ndata: a\n\n", vec![data("a")]),
            ("retry: 5\n\n", vec![SseEvent { retry: Some(5), ..SseEvent::default() }]),
            ("data: a\n", vec![data("a")]),
            ("data: a", vec![]),
            ("\n\n\n", vec![]),
        ];
        for (text, wanted) in rows {
            assert_eq!(&read(&[text.as_bytes()], 100), &(wanted.clone(), None), "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(&read(&bytes, 100), &(wanted.clone(), None), "{text:?}, byte by byte");
        }
    }

    #[test]
    fn hands_out_what_came_before_a_fault() {
        let first = vec![event(None, None, Some("a"))];
        assert_eq!(
            read(&[b"data: a\n\ndata: \xff\n\ndata: b\n\n"], 100),
            (first.clone(), Some(SseError::NotUtf8))
        );
        let long = SseError::TooLong { limit: 20 };
        assert_eq!(read(&[b"data: a\n\ndata: 0123456789012345\n\n"], 20), (first.clone(), Some(long)));
        let lines = b"data: a\n\ndata: 0123456\ndata: 0123456\ndata: 0123456\n\n";
        assert_eq!(read(&[lines], 20), (first, Some(long)));
    }

    #[test]
    fn comments_take_no_room() {
        let text = ": 0123456789\n".repeat(10) + "data: a\n\n";
        assert_eq!(read(&[text.as_bytes()], 20), (vec![event(None, None, Some("a"))], None));
    }
}
