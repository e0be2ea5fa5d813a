//! The events of one stream (SSE): written by whoever has something to say, read by the client's connection.
//!
//! A log outlives its reader, so a client that lost its connection can read on where it was. It is bounded:
//! when nobody reads, the oldest notifications go first; the answer at the end is never dropped. Only one
//! reader at a time: a newer one ends the older.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use gatehouse_tools::Listening;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// A comment goes out after this long without an event, so that nobody in between closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Most notifications that are kept for a reader.
const MOST_EVENTS: usize = 256;

/// Most bytes of them: a server may send large log messages, and a client may not read.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Whether events carry ids and stay after they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// They carry ids under this stream's number and stay.
    Numbered(u64),
    /// They go once they were read.
    Passing,
}

/// The events of one stream.
#[derive(Debug)]
pub(crate) struct EventLog {
    keeping: Keeping,
    state: Mutex<State>,
    /// Whether somebody is there to read it, or is about to begin.
    listening: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(u64, Bytes)>,
    /// Number of the last event.
    last: u64,
    bytes: usize,
    /// When the last event was written.
    ended: Option<Instant>,
    /// Which reader is the present one.
    reader: u64,
    /// Whether it is still there.
    is_read: bool,
    waker: Option<Waker>,
}

impl EventLog {
    /// An empty log.
    pub(crate) fn new(keeping: Keeping) -> Arc<Self> {
        Arc::new(Self { keeping, state: Mutex::new(State::default()), listening: watch::Sender::new(true) })
    }

    /// Follows whether somebody is there to read it. Whoever made it is, until [`EventLog::abandon`].
    pub(crate) fn listening(&self) -> Listening {
        Listening::new(self.listening.subscribe())
    }

    /// Notes that whoever was about to read it has left.
    pub(crate) fn abandon(&self) {
        self.listening.send_replace(false);
    }

    /// Writes an event; nothing once the log has ended.
    pub(crate) fn push<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        self.write(pieces, false);
    }

    /// Writes the last event and ends the log.
    pub(crate) fn finish<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        self.write(pieces, true);
    }

    /// Ends the log without another event.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.ended.get_or_insert_with(Instant::now);
        state.wake();
    }

    /// Writes an empty event, whose only use is its id.
    pub(crate) fn prime(&self) {
        self.write([&b""[..]].into_iter(), false);
    }

    /// Whether somebody reads it.
    pub(crate) fn is_read(&self) -> bool {
        self.state.lock().is_read
    }

    /// Whether nothing waits to be read.
    pub(crate) fn is_drained(&self) -> bool {
        self.state.lock().events.is_empty()
    }

    /// Wakes somebody with the next event, as long as no reader has begun.
    pub(crate) fn wake_on_event(&self, waker: &Waker) {
        self.state.lock().waker = Some(waker.clone());
    }

    /// When it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Instant> {
        self.state.lock().ended
    }

    /// Bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    fn write<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone, last: bool) {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return;
        }
        state.last += 1;
        let number = state.last;
        let id = match self.keeping {
            Keeping::Numbered(stream) => Some((stream, number)),
            Keeping::Passing => None,
        };
        let event = encode(id, pieces);
        state.bytes += event.len();
        state.events.push_back((number, event));
        // The newest stays, however large: it may be the answer.
        while state.events.len() > MOST_EVENTS || (state.bytes > MOST_BYTES && state.events.len() > 1) {
            if let Some((_, dropped)) = state.events.pop_front() {
                state.bytes = state.bytes.saturating_sub(dropped.len());
            }
        }
        if last {
            state.ended = Some(Instant::now());
        }
        state.wake();
    }

    /// Starts to read after an event (0 for all). The reader before, if there is one, ends.
    pub(crate) fn read(self: &Arc<Self>, after: u64) -> EventReader {
        let mut state = self.state.lock();
        state.reader += 1;
        state.is_read = true;
        self.listening.send_replace(true);
        state.wake();
        EventReader {
            log: Arc::clone(self),
            me: state.reader,
            after,
            quiet: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
            when_lost: None,
        }
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// One event as it is written: every line of the data on a line of its own. Line ends can only stand between
/// the tokens of JSON, so the message stays the same.
fn encode<'a>(id: Option<(u64, u64)>, pieces: impl Iterator<Item = &'a [u8]> + Clone) -> Bytes {
    let length: usize = pieces.clone().map(<[u8]>::len).sum();
    let mut out = BytesMut::with_capacity(length + 64);
    if let Some((stream, number)) = id {
        out.put_slice(format!("id: {stream:x}-{number}\n").as_bytes());
    }
    out.put_slice(b"data: ");
    for piece in pieces {
        let mut rest = piece;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(at);
            out.put_slice(line);
            out.put_slice(b"\ndata: ");
            rest = after.get(1..).unwrap_or_default();
        }
        out.put_slice(rest);
    }
    out.put_slice(b"\n\n");
    out.freeze()
}

/// Reads the two numbers of an event's id.
pub(crate) fn parse_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, number.parse().ok()?))
}

/// Reads a log for one connection.
pub(crate) struct EventReader {
    log: Arc<EventLog>,
    me: u64,
    after: u64,
    quiet: Pin<Box<Sleep>>,
    when_lost: Option<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("after", &self.after).finish_non_exhaustive()
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut state = self.log.state.lock();
        if state.reader == self.me {
            state.is_read = false;
            self.log.abandon();
        }
        drop(state);
        if let Some(when_lost) = self.when_lost.take() {
            when_lost();
        }
    }
}

impl EventReader {
    /// What to do when the connection goes away before the log was read to its end.
    pub(crate) fn when_lost(mut self, act: impl FnOnce() + Send + 'static) -> Self {
        self.when_lost = Some(Box::new(act));
        self
    }

    /// The next bytes to write, or the end.
    pub(crate) fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        let mut state = this.log.state.lock();
        if state.reader != this.me {
            return Poll::Ready(None);
        }
        let found = match this.log.keeping {
            Keeping::Passing => {
                let found = state.events.pop_front();
                if let Some((_, event)) = &found {
                    state.bytes = state.bytes.saturating_sub(event.len());
                }
                found
            }
            Keeping::Numbered(_) => {
                let next = state.events.partition_point(|(number, _)| *number <= this.after);
                state.events.get(next).cloned()
            }
        };
        if let Some((number, event)) = found {
            this.after = number;
            drop(state);
            this.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(event));
        }
        if state.ended.is_some() {
            drop(state);
            this.when_lost = None;
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        drop(state);
        if this.quiet.as_mut().poll(cx).is_ready() {
            this.quiet.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(Bytes::from_static(b": waiting\n\n")));
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    fn one(text: &str) -> impl Iterator<Item = &[u8]> + Clone {
        std::iter::once(text.as_bytes())
    }

    async fn next(reader: &mut EventReader) -> Option<String> {
        let mut reader = Pin::new(reader);
        poll_fn(|cx| reader.as_mut().poll_next(cx))
            .await
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn every_line_of_the_data_gets_its_own_prefix() {
        for (pieces, written) in [
            (vec!["{}"], "data: {}\n\n"),
            (vec!["{\n\"a\":", "1}"], "data: {\ndata: \"a\":1}\n\n"),
            (vec!["{\r\n}"], "data: {\ndata: \ndata: }\n\n"),
            (vec![""], "data: \n\n"),
        ] {
            assert_eq!(encode(None, pieces.iter().map(|piece| piece.as_bytes())), written);
        }
        assert_eq!(encode(Some((26, 3)), one("1")), "id: 1a-3\ndata: 1\n\n");
        assert_eq!(parse_id("1a-3"), Some((26, 3)));
        assert_eq!(parse_id("0"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_reader_resumes_and_ends_the_first() {
        let log = EventLog::new(Keeping::Numbered(1));
        let mut first = log.read(0);
        log.push(one("a"));
        log.push(one("b"));
        assert_eq!(next(&mut first).await.unwrap(), "id: 1-1\ndata: a\n\n");
        let mut second = log.read(1);
        assert_eq!(next(&mut first).await, None);
        assert_eq!(next(&mut second).await.unwrap(), "id: 1-2\ndata: b\n\n");
        log.finish(one("c"));
        assert_eq!(next(&mut second).await.unwrap(), "id: 1-3\ndata: c\n\n");
        assert_eq!(next(&mut second).await, None);
        // The answer stays for whoever comes back.
        assert_eq!(next(&mut log.read(2)).await.unwrap(), "id: 1-3\ndata: c\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn comments_keep_a_quiet_stream_open() {
        let log = EventLog::new(Keeping::Passing);
        let mut reader = log.read(0);
        let started = Instant::now();
        assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
        assert_eq!(started.elapsed().as_secs(), 15);
        assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
        assert_eq!(started.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_log_is_bounded_and_keeps_its_answer() {
        let log = EventLog::new(Keeping::Passing);
        for n in 0..10_000 {
            log.push(one(&n.to_string()));
        }
        log.finish(one("answer"));
        log.push(one("too late"));
        let mut reader = log.read(0);
        let mut read = Vec::new();
        while let Some(event) = next(&mut reader).await {
            read.push(event);
        }
        assert_eq!(read.len(), MOST_EVENTS);
        assert_eq!(read.last().unwrap(), "data: answer\n\n");
        assert_eq!(log.bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_log_is_bounded_in_bytes_and_keeps_its_answer() {
        let log = EventLog::new(Keeping::Passing);
        let large = "x".repeat(MOST_BYTES / 8);
        for _ in 0..100 {
            log.push(one(&large));
            assert!(log.bytes() <= MOST_BYTES);
        }
        let answer = "y".repeat(MOST_BYTES + 1);
        log.finish(one(&answer));
        let mut reader = log.read(0);
        assert_eq!(next(&mut reader).await.unwrap().len(), "data: ".len() + answer.len() + 2);
        assert_eq!(next(&mut reader).await, None);
    }

    #[tokio::test]
    async fn a_reader_that_goes_away_before_the_end_is_noticed() {
        for (finished, lost) in [(true, false), (false, true)] {
            let noticed = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let log = EventLog::new(Keeping::Passing);
            let flag = Arc::clone(&noticed);
            let mut reader =
                log.read(0).when_lost(move || flag.store(true, std::sync::atomic::Ordering::SeqCst));
            assert!(log.is_read());
            if finished {
                log.end();
                assert_eq!(next(&mut reader).await, None);
            }
            drop(reader);
            assert!(!log.is_read());
            assert_eq!(noticed.load(std::sync::atomic::Ordering::SeqCst), lost);
        }
    }
}
