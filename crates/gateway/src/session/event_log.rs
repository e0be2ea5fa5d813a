//! The event log of one SSE stream: written by the call or the session, read by the client's connection.
//!
//! A log outlives its reader, so a client that lost its connection can resume. Each log is bounded: the
//! oldest events are dropped first, and the newest event is always kept. A log has one reader at a time: a
//! new one ends the previous one.
//!
//! Events that are kept for a reader who may come back count towards the client's byte budget over all its
//! sessions ([`gatehouse_tools::ByteBudget`]). What exceeds the budget is dropped as if it had expired. A log
//! that is being read isn't counted: there is at most one per connection. Responses that wait for room in a shared log
//! are, since any number of them can: over the budget, the log ends.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use gatehouse_model::ClientId;
use gatehouse_tools::{ByteBudget, ClientPresence, Evict, KeptKind, Reservation, Surplus};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, Sleep};

/// Interval without events after which a comment is sent, so that no intermediary closes the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Maximum number of events that are kept for a reader.
const MAX_EVENTS: usize = 256;

/// Maximum total size of these events in bytes: a server may send large log messages, and a client may not
/// read them.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Time after which a client should resume a stream that broke, in milliseconds (`retry`).
const RETRY_MS: u32 = 1000;

/// Whether events carry ids and stay after they were read.
#[derive(Debug)]
enum EventRetention {
    /// Events carry ids with this stream number, and stay within the budget of the client.
    Numbered { stream: u64, kept_for: BudgetShare },
    /// Events are dropped once they were read.
    Transient,
    /// As [`Self::Transient`], for all messages of a session: a response waits for room, within the budget of the
    /// client, and a notification that finds none is dropped, so that one call's notifications never displace another
    /// call's response.
    Shared { waiting_for: BudgetShare },
}

/// Whose part of a byte budget something counts towards.
#[derive(Clone, Debug)]
struct BudgetShare {
    budget: Arc<ByteBudget>,
    client: ClientId,
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
    /// Notified when the reader has taken an event, or the log has ended.
    taken: Notify,
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

    /// An empty log for all messages of a session, which starts with this event. Responses wait for room within the
    /// budget of a client.
    pub(crate) fn shared(first: Bytes, budget: &Arc<ByteBudget>, client: &ClientId) -> Arc<Self> {
        let waiting_for = BudgetShare { budget: Arc::clone(budget), client: client.clone() };
        let log = Self::new(EventRetention::Shared { waiting_for });
        log.state.lock().push(first);
        log
    }

    /// An empty log whose events carry ids with a stream number and stay, within the budget of a client.
    pub(crate) fn numbered(stream: u64, budget: &Arc<ByteBudget>, client: &ClientId) -> Arc<Self> {
        let kept_for = BudgetShare { budget: Arc::clone(budget), client: client.clone() };
        Self::new(EventRetention::Numbered { stream, kept_for })
    }

    fn new(retention: EventRetention) -> Arc<Self> {
        Arc::new_cyclic(|weak_self| Self {
            retention,
            state: Mutex::default(),
            expecting_reader: watch::Sender::new(true),
            taken: Notify::new(),
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
        drop(state);
        self.taken.notify_waiters();
    }

    /// Writes a response of a shared log, when there is room for it. Does nothing once the log has ended. It ends if its
    /// client reads so slowly that what waits exceeds the client's budget.
    pub(crate) async fn deliver<'a>(&self, pieces: impl Iterator<Item = &'a [u8]> + Clone) {
        let mut reservation = None;
        loop {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            // From here on, no notification is missed.
            taken.as_mut().enable();
            {
                let mut state = self.state.lock();
                if state.ended_at.is_some() {
                    return;
                }
                if !state.is_full() {
                    state.push(encode(None, pieces));
                    state.wake();
                    return;
                }
            }
            if reservation.is_none()
                && let EventRetention::Shared { waiting_for } = &self.retention
            {
                let bytes = pieces.clone().map(<[u8]>::len).sum();
                let BudgetShare { budget, client } = waiting_for;
                let (reserved, surplus) =
                    budget.reserve(client, KeptKind::Running, bytes, Weak::clone(&self.weak_self));
                reservation = Some(reserved);
                surplus.evict();
            }
            taken.await;
        }
    }

    /// Writes an event without data, so that the client can resume the stream if it breaks before its first message,
    /// and says after which time (2025-11-25, Streamable HTTP). Its type isn't `message`: some clients parse the data of
    /// each message, also if it is empty.
    pub(crate) fn prime(&self) {
        let mut state = self.state.lock();
        let EventRetention::Numbered { stream, .. } = &self.retention else { return };
        let id = event_id(*stream, state.last_number + 1);
        state.push(format!("event: prime\nid: {id}\nretry: {RETRY_MS}\ndata: \n\n").into());
        state.wake();
        self.update_reservation(state);
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
        let id = match &self.retention {
            EventRetention::Numbered { stream, .. } => Some((*stream, state.last_number + 1)),
            EventRetention::Transient => None,
            EventRetention::Shared { .. } if state.is_full() => {
                tracing::debug!("a client reads too slowly; a notification for it is dropped");
                return;
            }
            EventRetention::Shared { .. } => None,
        };
        state.push(encode(id, pieces));
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
        if let EventRetention::Numbered { kept_for: BudgetShare { budget, client }, .. } = &self.retention
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
            on_end: None,
        }
    }
}

impl Evict for EventLog {
    fn evict(&self) {
        if let EventRetention::Shared { .. } = self.retention {
            tracing::info!("a client of HTTP+SSE does not read its responses; its connection is closed");
            return self.end();
        }
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
    fn push(&mut self, event: Bytes) {
        self.last_number += 1;
        self.bytes += event.len();
        self.events.push_back((self.last_number, event));
    }

    /// Whether no more may wait for the reader.
    fn is_full(&self) -> bool {
        self.events.len() >= MAX_EVENTS || self.bytes >= MAX_BYTES
    }

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

/// The first event of an HTTP+SSE stream: where the client posts its messages.
pub(crate) fn endpoint_event(address: &str) -> Bytes {
    format!("event: endpoint\ndata: {address}\n\n").into()
}

/// Encodes one event, with each line of the data on a `data:` line of its own. Line breaks can only occur
/// between JSON tokens, so the message is unchanged.
fn encode<'a>(id: Option<(u64, u64)>, pieces: impl Iterator<Item = &'a [u8]> + Clone) -> Bytes {
    let length: usize = pieces.clone().map(<[u8]>::len).sum();
    let mut out = BytesMut::with_capacity(length + 64);
    if let Some((stream, number)) = id {
        out.put_slice(format!("id: {}\n", event_id(stream, number)).as_bytes());
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

fn event_id(stream: u64, number: u64) -> String {
    format!("{stream:x}-{number}")
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
    on_end: Option<Box<dyn FnOnce() + Send>>,
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
        for action in [self.on_disconnect.take(), self.on_end.take()].into_iter().flatten() {
            action();
        }
    }
}

impl EventReader {
    /// Sets the action for when the connection is lost before the log was read to its end.
    pub(crate) fn on_disconnect(mut self, action: impl FnOnce() + Send + 'static) -> Self {
        self.on_disconnect = Some(Box::new(action));
        self
    }

    /// Sets the action for when it stops reading, for whatever reason.
    pub(crate) fn on_end(mut self, action: impl FnOnce() + Send + 'static) -> Self {
        self.on_end = Some(Box::new(action));
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
            EventRetention::Transient | EventRetention::Shared { .. } => {
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
            this.log.taken.notify_waiters();
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
mod tests;
