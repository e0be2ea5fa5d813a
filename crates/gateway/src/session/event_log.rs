//! The event log of one SSE stream: written by the call or the session, read by the client's connection.
//!
//! A log outlives its reader, so a client that lost its connection can resume. Each log is bounded: the
//! oldest events are dropped first, and the newest event is always kept. A log has one reader at a time: a
//! new one ends the previous one.
//!
//! Events that are kept for a reader who may come back count towards the client's byte budget over all its
//! sessions ([`gatehouse_tools::ByteBudget`]). What exceeds the budget is dropped as if it had expired. A log
//! that is being read isn't counted: there is at most one per connection.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use gatehouse_model::ClientId;
use gatehouse_tools::{ByteBudget, ClientPresence, Evict, KeptKind, Reservation, Surplus};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// Interval without events after which a comment is sent, so that no intermediary closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Maximum number of events that are kept for a reader.
const MAX_EVENTS: usize = 256;

/// Maximum total size of these events in bytes: a server may send large log messages, and a client may not
/// read them.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Whether events carry ids and stay after they were read.
#[derive(Debug)]
enum EventRetention {
    /// Events carry ids with this stream number, and stay within the budget of the client.
    Numbered { stream: u64, budget: Arc<ByteBudget>, client: ClientId },
    /// Events are dropped once they were read.
    Transient,
}

/// Whether an event ends its log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventPosition {
    NotLast,
    Last,
}

#[derive(Debug)]
pub(crate) struct EventLog {
    retention: EventRetention,
    state: Mutex<EventLogState>,
    /// Whether a reader is attached or about to attach. Changed only while the state is locked.
    expecting_reader: watch::Sender<bool>,
    /// This log, as the owner of its reservation.
    weak_self: Weak<Self>,
}

#[derive(Debug, Default)]
struct EventLogState {
    events: VecDeque<(u64, Bytes)>,
    last_number: u64,
    bytes: usize,
    /// When the last event was written.
    ended_at: Option<Instant>,
    /// Number of the current reader.
    reader_id: u64,
    /// Whether the current reader is still attached.
    has_reader: bool,
    waker: Option<Waker>,
    /// Whether no reader can attach any more.
    is_discarded: bool,
    /// Reservation in the byte budget while the log has no reader.
    reservation: Option<Reservation>,
}

impl EventLog {
    /// An empty log whose events are dropped once they were read.
    pub(crate) fn transient() -> Arc<Self> {
        Self::new(EventRetention::Transient)
    }

    /// An empty log whose events carry ids with a stream number and stay, within the budget of a client.
    pub(crate) fn numbered(stream: u64, budget: &Arc<ByteBudget>, client: &ClientId) -> Arc<Self> {
        Self::new(EventRetention::Numbered { stream, budget: Arc::clone(budget), client: client.clone() })
    }

    fn new(retention: EventRetention) -> Arc<Self> {
        Arc::new_cyclic(|weak_self| Self {
            retention,
            state: Mutex::default(),
            expecting_reader: watch::Sender::new(true),
            weak_self: Weak::clone(weak_self),
        })
    }

    /// Watches whether a reader is attached or about to attach. The creator counts as one until
    /// [`EventLog::abandon`].
    pub(crate) fn client_presence(&self) -> ClientPresence {
        ClientPresence::new(self.expecting_reader.subscribe())
    }

    /// Whether a reader is attached or about to attach.
    pub(crate) fn is_expecting_reader(&self) -> bool {
        *self.expecting_reader.borrow()
    }

    /// Records that the creator has gone without a reader and that no reader can attach any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        self.expecting_reader.send_replace(false);
        state.is_discarded = true;
        self.update_reservation(state);
    }

    /// Records that no new reader can attach. The current reader keeps reading.
    pub(crate) fn discard(&self) {
        let mut state = self.state.lock();
        state.is_discarded = true;
        self.update_reservation(state);
    }

    /// Whether no reader can attach any more.
    pub(crate) fn is_discarded(&self) -> bool {
        self.state.lock().is_discarded
    }

    /// Writes an event. Does nothing once the log has ended.
    pub(crate) fn push<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        self.write(pieces, EventPosition::NotLast);
    }

    /// Writes the last event and ends the log.
    pub(crate) fn finish<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        self.write(pieces, EventPosition::Last);
    }

    /// Ends the log without another event.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.ended_at.get_or_insert_with(Instant::now);
        state.wake();
    }

    /// Writes an empty event that only carries an id.
    pub(crate) fn prime(&self) {
        self.write([&b""[..]].into_iter(), EventPosition::NotLast);
    }

    /// Whether a reader is attached.
    pub(crate) fn has_reader(&self) -> bool {
        self.state.lock().has_reader
    }

    /// Whether there is no unread event.
    pub(crate) fn is_drained(&self) -> bool {
        self.state.lock().events.is_empty()
    }

    /// Registers a waker for the next event, as long as no reader has attached.
    pub(crate) fn wake_on_event(&self, waker: &Waker) {
        self.state.lock().waker = Some(waker.clone());
    }

    pub(crate) fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
    }

    /// Size of the kept events in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    fn write<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone, position: EventPosition) {
        let mut state = self.state.lock();
        if state.ended_at.is_some() {
            return;
        }
        state.last_number += 1;
        let number = state.last_number;
        let id = match &self.retention {
            EventRetention::Numbered { stream, .. } => Some((*stream, number)),
            EventRetention::Transient => None,
        };
        let event = encode(id, pieces);
        state.bytes += event.len();
        state.events.push_back((number, event));
        // The newest event stays, however large: it may be the response.
        while state.events.len() > MAX_EVENTS || (state.bytes > MAX_BYTES && state.events.len() > 1) {
            if let Some((_, dropped)) = state.events.pop_front() {
                state.bytes = state.bytes.saturating_sub(dropped.len());
            }
        }
        if position == EventPosition::Last {
            state.ended_at = Some(Instant::now());
        }
        state.wake();
        self.update_reservation(state);
    }

    /// Updates the budget reservation after events or readers changed, and evicts the surplus once this log
    /// is unlocked.
    fn update_reservation(&self, mut state: MutexGuard<'_, EventLogState>) {
        state.reservation = None;
        let mut surplus = Surplus::default();
        if let EventRetention::Numbered { budget, client, .. } = &self.retention
            && !self.is_expecting_reader()
        {
            if state.is_discarded {
                state.clear();
            }
            if state.bytes > 0 {
                let kind = if state.ended_at.is_some() { KeptKind::Finished } else { KeptKind::Running };
                let (reservation, over_budget) =
                    budget.reserve(client, kind, state.bytes, Weak::clone(&self.weak_self));
                state.reservation = Some(reservation);
                surplus = over_budget;
            }
        }
        drop(state);
        surplus.evict();
    }

    /// Starts a reader at the first kept event. Ends the previous reader.
    pub(crate) fn read(self: &Arc<Self>) -> EventReader {
        self.reader(self.state.lock(), 0)
    }

    /// Starts a reader after an event; `None` if the log is no longer kept. Ends the previous reader.
    pub(crate) fn resume(self: &Arc<Self>, after: u64) -> Option<EventReader> {
        let state = self.state.lock();
        (!state.is_discarded).then(|| self.reader(state, after))
    }

    fn reader(self: &Arc<Self>, mut state: MutexGuard<'_, EventLogState>, after: u64) -> EventReader {
        state.reader_id += 1;
        state.has_reader = true;
        self.expecting_reader.send_replace(true);
        state.wake();
        let reader_id = state.reader_id;
        self.update_reservation(state);
        EventReader {
            log: Arc::clone(self),
            reader_id,
            after,
            keep_alive: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
            on_disconnect: None,
        }
    }
}

impl Evict for EventLog {
    fn evict(&self) {
        let mut state = self.state.lock();
        if self.is_expecting_reader() {
            return;
        }
        state.clear();
        state.reservation = None;
        state.is_discarded |= state.ended_at.is_some();
    }
}

impl EventLogState {
    fn clear(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Encodes one event, with each line of the data on a `data:` line of its own. Line breaks can only occur
/// between JSON tokens, so the message is unchanged.
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

/// Parses an event id into stream number and event number.
pub(crate) fn parse_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((u64::from_str_radix(stream, 16).ok()?, number.parse().ok()?))
}

/// Reads a log for one connection.
pub(crate) struct EventReader {
    log: Arc<EventLog>,
    reader_id: u64,
    after: u64,
    keep_alive: Pin<Box<Sleep>>,
    on_disconnect: Option<Box<dyn FnOnce() + Send>>,
}

impl std::fmt::Debug for EventReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventReader").field("after", &self.after).finish_non_exhaustive()
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        let mut state = self.log.state.lock();
        if state.reader_id == self.reader_id {
            state.has_reader = false;
            self.log.expecting_reader.send_replace(false);
        }
        self.log.update_reservation(state);
        if let Some(on_disconnect) = self.on_disconnect.take() {
            on_disconnect();
        }
    }
}

impl EventReader {
    /// Sets the action for when the connection is lost before the log was read to its end.
    pub(crate) fn on_disconnect(mut self, action: impl FnOnce() + Send + 'static) -> Self {
        self.on_disconnect = Some(Box::new(action));
        self
    }

    /// The next bytes to write; `None` at the end.
    pub(crate) fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        let mut state = this.log.state.lock();
        if state.reader_id != this.reader_id {
            return Poll::Ready(None);
        }
        let found = match &this.log.retention {
            EventRetention::Transient => {
                let found = state.events.pop_front();
                if let Some((_, event)) = &found {
                    state.bytes = state.bytes.saturating_sub(event.len());
                }
                found
            }
            EventRetention::Numbered { .. } => {
                let next = state.events.partition_point(|(number, _)| *number <= this.after);
                state.events.get(next).cloned()
            }
        };
        if let Some((number, event)) = found {
            this.after = number;
            drop(state);
            this.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(event));
        }
        if state.ended_at.is_some() {
            drop(state);
            this.on_disconnect = None;
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        drop(state);
        if this.keep_alive.as_mut().poll(cx).is_ready() {
            this.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
            return Poll::Ready(Some(Bytes::from_static(b": waiting\n\n")));
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use gatehouse_tools::ByteLimits;

    use super::*;

    fn one(text: &str) -> impl Iterator<Item = &[u8]> + Clone {
        std::iter::once(text.as_bytes())
    }

    fn budget() -> Arc<ByteBudget> {
        ByteBudget::new(ByteLimits { client: 1000, all: 1000 })
    }

    fn numbered(budget: &Arc<ByteBudget>) -> Arc<EventLog> {
        EventLog::numbered(1, budget, &"client".into())
    }

    async fn next(reader: &mut EventReader) -> Option<String> {
        let mut reader = Pin::new(reader);
        poll_fn(|cx| reader.as_mut().poll_next(cx))
            .await
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn prefixes_every_data_line() {
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
    async fn second_reader_resumes_and_ends_first() {
        let log = numbered(&budget());
        let mut first = log.read();
        log.push(one("a"));
        log.push(one("b"));
        assert_eq!(next(&mut first).await.unwrap(), "id: 1-1\ndata: a\n\n");
        let mut second = log.resume(1).unwrap();
        assert_eq!(next(&mut first).await, None);
        assert_eq!(next(&mut second).await.unwrap(), "id: 1-2\ndata: b\n\n");
        log.finish(one("c"));
        assert_eq!(next(&mut second).await.unwrap(), "id: 1-3\ndata: c\n\n");
        assert_eq!(next(&mut second).await, None);
        // The response is kept for a resuming reader.
        assert_eq!(next(&mut log.resume(2).unwrap()).await.unwrap(), "id: 1-3\ndata: c\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn sends_keep_alive_comments() {
        let log = EventLog::transient();
        let mut reader = log.read();
        let started = Instant::now();
        assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
        assert_eq!(started.elapsed().as_secs(), 15);
        assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
        assert_eq!(started.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_unread_events_and_keeps_response() {
        let log = EventLog::transient();
        for n in 0..10_000 {
            log.push(one(&n.to_string()));
        }
        log.finish(one("response"));
        log.push(one("too late"));
        let mut reader = log.read();
        let mut read = Vec::new();
        while let Some(event) = next(&mut reader).await {
            read.push(event);
        }
        assert_eq!(read.len(), MAX_EVENTS);
        assert_eq!(read.last().unwrap(), "data: response\n\n");
        assert_eq!(log.bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_unread_bytes_and_keeps_response() {
        let log = EventLog::transient();
        let large = "x".repeat(MAX_BYTES / 8);
        for _ in 0..100 {
            log.push(one(&large));
            assert!(log.bytes() <= MAX_BYTES);
        }
        let response = "y".repeat(MAX_BYTES + 1);
        log.finish(one(&response));
        let mut reader = log.read();
        assert_eq!(next(&mut reader).await.unwrap().len(), "data: ".len() + response.len() + 2);
        assert_eq!(next(&mut reader).await, None);
    }

    #[tokio::test]
    async fn reports_reader_lost_before_end() {
        for finished in [true, false] {
            let disconnected = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let log = EventLog::transient();
            let flag = Arc::clone(&disconnected);
            let mut reader =
                log.read().on_disconnect(move || flag.store(true, std::sync::atomic::Ordering::SeqCst));
            assert!(log.has_reader());
            if finished {
                log.end();
                assert_eq!(next(&mut reader).await, None);
            }
            drop(reader);
            assert!(!log.has_reader());
            assert_eq!(disconnected.load(std::sync::atomic::Ordering::SeqCst), !finished);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn counts_unread_events_until_dropped() {
        let budget = budget();
        let log = numbered(&budget);
        let mut reader = log.read();
        log.push(one("a"));
        log.finish(one("b"));
        assert_eq!(budget.bytes(), 0, "it is being read");
        while next(&mut reader).await.is_some() {}
        assert_eq!(budget.bytes(), 0, "its reader is still there");
        drop(reader);
        assert_eq!(budget.bytes(), log.bytes());
        drop(log.resume(0).unwrap());
        assert_eq!(budget.bytes(), log.bytes());
        drop(log);
        assert_eq!(budget.bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn evicts_oldest_finished_log_over_budget_and_none_being_read() {
        let budget = budget();
        let large = "x".repeat(400);
        let logs: Vec<Arc<EventLog>> = (0..4).map(|_| numbered(&budget)).collect();
        let mut live = logs[0].read();
        logs[0].finish(one(&large));
        let running = &logs[1];
        drop(running.read());
        running.push(one(&large));
        for finished in &logs[2..] {
            finished.finish(one(&large));
            drop(finished.read());
        }
        // Three unread logs of 400 bytes, and room for two.
        assert_eq!(
            logs.iter().map(|log| log.is_discarded()).collect::<Vec<_>>(),
            [false, false, true, false]
        );
        assert!(logs[2].resume(0).is_none() && logs[2].bytes() == 0);
        assert!(next(&mut live).await.unwrap().contains(&large));
        assert_eq!(next(&mut live).await, None);
        assert!(budget.bytes() <= 1000);

        // An unfinished log is evicted last. It loses its events so far, but its response is still delivered.
        let other = numbered(&budget);
        drop(other.read());
        other.push(one(&"y".repeat(900)));
        assert!(logs[3].is_discarded() && other.bytes() > 900);
        assert_eq!((running.bytes(), running.is_discarded()), (0, false));
        running.finish(one("response"));
        assert!(next(&mut running.resume(0).unwrap()).await.unwrap().contains("response"));

        // An event larger than the whole budget isn't kept, and nothing is evicted for it.
        let before = budget.bytes();
        let largest = numbered(&budget);
        drop(largest.read());
        largest.finish(one(&"z".repeat(1001)));
        assert!(largest.is_discarded() && budget.bytes() == before);
    }

    #[tokio::test(start_paused = true)]
    async fn discarded_logs_hold_nothing() {
        let budget = budget();
        let abandoned = numbered(&budget);
        abandoned.push(one("a"));
        abandoned.abandon();
        abandoned.push(one("b"));
        assert_eq!((abandoned.bytes(), budget.bytes()), (0, 0));
        let discarded = numbered(&budget);
        let mut reader = discarded.read();
        discarded.discard();
        discarded.finish(one("response"));
        assert!(next(&mut reader).await.unwrap().contains("response"), "the current reader reads on");
        drop(reader);
        assert_eq!((discarded.bytes(), budget.bytes()), (0, 0));
        assert!(discarded.resume(0).is_none());
    }
}
