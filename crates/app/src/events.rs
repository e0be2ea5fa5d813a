//! The event bus: numbers every event and passes it to the subscribers. It never blocks the emitting
//! subsystem and keeps no unbounded backlog for a slow subscriber: such a subscriber is told that it
//! missed events, and reads the snapshot again.

use std::collections::VecDeque;
use std::sync::Arc;

use gatehouse_model::event::EVENT_VERSION;
use gatehouse_model::{Clock, Envelope, Event, EventSink};
use parking_lot::Mutex;
use tokio::sync::broadcast;

/// Number of events that a subscriber may lag behind before it misses some.
const BACKLOG: usize = 1024;
/// Number of events kept for a subscriber that reconnects.
const KEPT: usize = 512;

/// Number of events kept as the journal since the start.
const JOURNAL: usize = 5_000;

/// Takes events from all subsystems and passes them to the subscribers.
pub struct EventBus {
    clock: Arc<dyn Clock>,
    order: Mutex<Order>,
    sender: broadcast::Sender<Arc<Envelope>>,
}

#[derive(Default)]
struct Order {
    last: u64,
    recent: VecDeque<Arc<Envelope>>,
    journal: VecDeque<Arc<Envelope>>,
}

impl EventBus {
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (sender, _) = broadcast::channel(BACKLOG);
        Self { clock, order: Mutex::new(Order::default()), sender }
    }

    /// Sequence number of the last event; 0 if there was none.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.order.lock().last
    }

    /// Events since the start, oldest first, limited in number. Log lines and call progress are left
    /// out, since they would push everything else out.
    #[must_use]
    pub fn journal(&self) -> Vec<Envelope> {
        let kept: Vec<_> = self.order.lock().journal.iter().cloned().collect();
        kept.iter().map(|envelope| Envelope::clone(envelope)).collect()
    }

    /// Subscribes from now on.
    #[must_use]
    pub fn listen(&self) -> EventStream {
        EventStream { missed: false, replay: VecDeque::new(), receiver: self.sender.subscribe() }
    }

    /// Subscribes from after an event on. Events since then are replayed first; if they are no longer
    /// kept, the subscriber is told that it missed events.
    #[must_use]
    pub fn listen_after(&self, after: u64) -> EventStream {
        let order = self.order.lock();
        let receiver = self.sender.subscribe();
        let replay: VecDeque<_> = order.recent.iter().filter(|e| e.seq > after).cloned().collect();
        let first_kept = replay.front().map_or(order.last.saturating_add(1), |e| e.seq);
        let missed = after > order.last || first_kept > after.saturating_add(1);
        let replay = if missed { VecDeque::new() } else { replay };
        EventStream { missed, replay, receiver }
    }
}

impl EventSink for EventBus {
    fn emit(&self, event: Event) {
        let at = self.clock.now();
        let mut order = self.order.lock();
        order.last = order.last.saturating_add(1);
        let envelope = Arc::new(Envelope { version: EVENT_VERSION, seq: order.last, at, event });
        if order.recent.len() == KEPT {
            order.recent.pop_front();
        }
        order.recent.push_back(Arc::clone(&envelope));
        if !matches!(envelope.event, Event::LogLine { .. } | Event::CallProgress { .. }) {
            if order.journal.len() == JOURNAL {
                order.journal.pop_front();
            }
            order.journal.push_back(Arc::clone(&envelope));
        }
        // Sent under the lock, so that subscribers see the numbers in order. An error means that there
        // is no subscriber.
        self.sender.send(envelope).unwrap_or(0);
    }
}

/// What a subscriber receives.
#[derive(Clone, Debug)]
pub enum Heard {
    Event(Arc<Envelope>),
    /// Events were missed: read the snapshot again.
    Missed,
}

/// One subscription to the events.
pub struct EventStream {
    missed: bool,
    replay: VecDeque<Arc<Envelope>>,
    receiver: broadcast::Receiver<Arc<Envelope>>,
}

impl EventStream {
    /// Waits for the next event; `None` once Gatehouse has stopped.
    pub async fn next(&mut self) -> Option<Heard> {
        if std::mem::take(&mut self.missed) {
            return Some(Heard::Missed);
        }
        if let Some(envelope) = self.replay.pop_front() {
            return Some(Heard::Event(envelope));
        }
        match self.receiver.recv().await {
            Ok(envelope) => Some(Heard::Event(envelope)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Heard::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::SystemClock;

    use super::*;

    fn bus() -> EventBus {
        EventBus::new(Arc::new(SystemClock))
    }

    fn emit(bus: &EventBus, times: usize) {
        for _ in 0..times {
            bus.emit(Event::PauseChanged { paused: true });
        }
    }

    async fn seq(stream: &mut EventStream) -> u64 {
        match stream.next().await {
            Some(Heard::Event(envelope)) => envelope.seq,
            other => panic!("expected an event, not {other:?}"),
        }
    }

    #[test]
    fn the_journal_keeps_what_happened_and_not_what_is_chatter() {
        use gatehouse_model::ServerId;
        use gatehouse_model::server::{LogLine, LogSource};
        let bus = bus();
        bus.emit(Event::PauseChanged { paused: true });
        for _ in 0..JOURNAL {
            let line = LogLine {
                at: bus.clock.now(),
                source: LogSource::Stderr,
                level: None,
                text: "chatter".into(),
            };
            bus.emit(Event::LogLine { server: ServerId::from_random(1), line });
        }
        bus.emit(Event::PauseChanged { paused: false });
        let journal = bus.journal();
        assert_eq!(journal.iter().map(|kept| kept.seq).collect::<Vec<_>>(), [1, 2 + JOURNAL as u64]);
        for _ in 0..JOURNAL {
            bus.emit(Event::SwitchChanged { on: true });
        }
        let journal = bus.journal();
        assert_eq!(journal.len(), JOURNAL);
        assert!(journal.iter().all(|kept| kept.event == Event::SwitchChanged { on: true }));
    }

    #[tokio::test]
    async fn events_are_numbered_in_order() {
        let bus = bus();
        let mut stream = bus.listen();
        emit(&bus, 3);
        assert_eq!([seq(&mut stream).await, seq(&mut stream).await, seq(&mut stream).await], [1, 2, 3]);
        assert_eq!(bus.last(), 3);
    }

    #[tokio::test]
    async fn a_listener_that_lags_is_told_so() {
        let bus = bus();
        let mut stream = bus.listen();
        emit(&bus, BACKLOG * 2);
        assert!(matches!(stream.next().await, Some(Heard::Missed)));
        assert!(matches!(stream.next().await, Some(Heard::Event(_))));
    }

    #[tokio::test]
    async fn a_listener_that_comes_back_gets_what_it_missed_while_that_is_kept() {
        let bus = bus();
        emit(&bus, 5);
        let mut stream = bus.listen_after(3);
        emit(&bus, 1);
        assert_eq!([seq(&mut stream).await, seq(&mut stream).await, seq(&mut stream).await], [4, 5, 6]);
    }

    #[tokio::test]
    async fn a_listener_that_was_away_too_long_or_in_another_run_is_told_so() {
        let bus = bus();
        emit(&bus, KEPT + 10);
        assert!(matches!(bus.listen_after(1).next().await, Some(Heard::Missed)));
        assert!(matches!(bus.listen_after(100_000).next().await, Some(Heard::Missed)));
    }

    #[tokio::test]
    async fn the_stream_ends_with_the_bus() {
        let bus = bus();
        let mut stream = bus.listen();
        drop(bus);
        assert!(stream.next().await.is_none());
    }
}
