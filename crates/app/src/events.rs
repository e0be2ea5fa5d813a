//! The event bus: numbers every event and passes it to the subscribers. It never blocks the emitting
//! subsystem and keeps no unbounded backlog for a slow subscriber: such a subscriber is told that it
//! missed events, and reads the snapshot again.

use std::collections::VecDeque;
use std::sync::Arc;

use gatehouse_model::event::EVENT_VERSION;
use gatehouse_model::{Clock, Event, EventEnvelope, EventSink};
use parking_lot::Mutex;
use tokio::sync::broadcast;

/// Number of events that a subscriber may lag behind before it misses some.
const CHANNEL_CAPACITY: usize = 1024;
/// Number of events kept for a subscriber that reconnects.
const REPLAY_CAPACITY: usize = 512;

/// Number of events kept as the journal since the start.
const JOURNAL_CAPACITY: usize = 5_000;

/// Takes events from all subsystems and passes them to the subscribers.
pub struct EventBus {
    clock: Arc<dyn Clock>,
    state: Mutex<BusState>,
    sender: broadcast::Sender<Arc<EventEnvelope>>,
}

#[derive(Default)]
struct BusState {
    last: u64,
    recent: VecDeque<Arc<EventEnvelope>>,
    journal: VecDeque<Arc<EventEnvelope>>,
}

impl EventBus {
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (sender, _) = broadcast::channel(CHANNEL_CAPACITY);
        Self { clock, state: Mutex::new(BusState::default()), sender }
    }

    /// Sequence number of the last event; 0 if there was none.
    pub fn last(&self) -> u64 {
        self.state.lock().last
    }

    /// Events since the start, oldest first, limited in number. Log lines, call progress and what models write are
    /// left out, since they would push everything else out.
    pub fn journal(&self) -> Vec<EventEnvelope> {
        let kept: Vec<_> = self.state.lock().journal.iter().cloned().collect();
        kept.iter().map(|envelope| EventEnvelope::clone(envelope)).collect()
    }

    /// Subscribes from now on.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        EventStream { missed: false, replay: VecDeque::new(), receiver: self.sender.subscribe() }
    }

    /// Subscribes from after an event on. Events since then are replayed first; if they are no longer
    /// kept, the subscriber is told that it missed events.
    #[must_use]
    pub fn subscribe_after(&self, after: u64) -> EventStream {
        let state = self.state.lock();
        let receiver = self.sender.subscribe();
        let replay: VecDeque<_> = state.recent.iter().filter(|e| e.seq > after).cloned().collect();
        let first_kept = replay.front().map_or(state.last.saturating_add(1), |e| e.seq);
        let missed = after > state.last || first_kept > after.saturating_add(1);
        let replay = if missed { VecDeque::new() } else { replay };
        EventStream { missed, replay, receiver }
    }
}

impl EventSink for EventBus {
    fn emit(&self, event: Event) {
        let at = self.clock.now();
        let mut state = self.state.lock();
        state.last = state.last.saturating_add(1);
        let envelope = Arc::new(EventEnvelope { version: EVENT_VERSION, seq: state.last, at, event });
        if state.recent.len() == REPLAY_CAPACITY {
            state.recent.pop_front();
        }
        state.recent.push_back(Arc::clone(&envelope));
        if !is_frequent(&envelope.event) {
            if state.journal.len() == JOURNAL_CAPACITY {
                state.journal.pop_front();
            }
            state.journal.push_back(Arc::clone(&envelope));
        }
        // Sent under the lock, so that subscribers see the numbers in order. An error means that there
        // is no subscriber.
        self.sender.send(envelope).unwrap_or(0);
    }
}

/// Whether events of this kind come in such numbers that the journal leaves them out.
fn is_frequent(event: &Event) -> bool {
    matches!(
        event,
        Event::LogLine { .. }
            | Event::CallProgress { .. }
            | Event::ConversationDelta { .. }
            | Event::ConversationChanged { .. }
    )
}

/// What a subscriber receives.
#[derive(Clone, Debug)]
pub enum StreamEvent {
    Event(Arc<EventEnvelope>),
    /// Events were missed: read the snapshot again.
    Missed,
}

/// One subscription to the events.
pub struct EventStream {
    missed: bool,
    replay: VecDeque<Arc<EventEnvelope>>,
    receiver: broadcast::Receiver<Arc<EventEnvelope>>,
}

impl EventStream {
    /// Waits for the next event; `None` once Gatehouse has stopped.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        if std::mem::take(&mut self.missed) {
            return Some(StreamEvent::Missed);
        }
        if let Some(envelope) = self.replay.pop_front() {
            return Some(StreamEvent::Event(envelope));
        }
        match self.receiver.recv().await {
            Ok(envelope) => Some(StreamEvent::Event(envelope)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(StreamEvent::Missed),
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
            Some(StreamEvent::Event(envelope)) => envelope.seq,
            other => panic!("expected an event, not {other:?}"),
        }
    }

    #[test]
    fn journal_excludes_logs_and_progress() {
        use gatehouse_model::ServerId;
        use gatehouse_model::server::{LogLine, LogSource};
        let bus = bus();
        bus.emit(Event::PauseChanged { paused: true });
        for _ in 0..JOURNAL_CAPACITY {
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
        assert_eq!(journal.iter().map(|kept| kept.seq).collect::<Vec<_>>(), [1, 2 + JOURNAL_CAPACITY as u64]);
        for _ in 0..JOURNAL_CAPACITY {
            bus.emit(Event::SwitchChanged { on: true });
        }
        let journal = bus.journal();
        assert_eq!(journal.len(), JOURNAL_CAPACITY);
        assert!(journal.iter().all(|kept| kept.event == Event::SwitchChanged { on: true }));
    }

    #[tokio::test]
    async fn numbers_events_in_order() {
        let bus = bus();
        let mut stream = bus.subscribe();
        emit(&bus, 3);
        assert_eq!([seq(&mut stream).await, seq(&mut stream).await, seq(&mut stream).await], [1, 2, 3]);
        assert_eq!(bus.last(), 3);
    }

    #[tokio::test]
    async fn reports_missed_events_to_lagging_subscriber() {
        let bus = bus();
        let mut stream = bus.subscribe();
        emit(&bus, CHANNEL_CAPACITY * 2);
        assert!(matches!(stream.next().await, Some(StreamEvent::Missed)));
        assert!(matches!(stream.next().await, Some(StreamEvent::Event(_))));
    }

    #[tokio::test]
    async fn replays_recent_events_to_returning_subscriber() {
        let bus = bus();
        emit(&bus, 5);
        let mut stream = bus.subscribe_after(3);
        emit(&bus, 1);
        assert_eq!([seq(&mut stream).await, seq(&mut stream).await, seq(&mut stream).await], [4, 5, 6]);
    }

    #[tokio::test]
    async fn reports_missed_events_when_replay_is_impossible() {
        let bus = bus();
        emit(&bus, REPLAY_CAPACITY + 10);
        assert!(matches!(bus.subscribe_after(1).next().await, Some(StreamEvent::Missed)));
        assert!(matches!(bus.subscribe_after(100_000).next().await, Some(StreamEvent::Missed)));
    }

    #[tokio::test]
    async fn stream_ends_with_bus() {
        let bus = bus();
        let mut stream = bus.subscribe();
        drop(bus);
        assert!(stream.next().await.is_none());
    }
}
