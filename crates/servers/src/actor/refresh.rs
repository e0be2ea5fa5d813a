//! Schedules which lists are read again, and when (SRV-12). Changes that come close together lead
//! to one read; a change during a read leads to another read after it.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_mcp_client::lists::ListKind;
use tokio::time::Instant;

/// Changes within this time are read together.
pub(crate) const DEBOUNCE: Duration = Duration::from_millis(200);

/// Delay before a list that could not be read is requested again.
const LATER: Duration = Duration::from_secs(30);

/// Bounds for the time-to-live that a server may set for a list.
pub(crate) const SHORTEST_FRESH: Duration = Duration::from_secs(60);
const LONGEST_FRESH: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, Debug, Default)]
struct RefreshState {
    due: Option<Instant>,
    reading: bool,
}

/// Schedule of the lists to read again.
#[derive(Debug, Default)]
pub(crate) struct ListRefresh(BTreeMap<ListKind, RefreshState>);

impl ListRefresh {
    /// A list has changed. The first change sets the time of the read; later ones don't postpone
    /// it, so that a server that sends changes continuously is still read.
    pub(crate) fn mark(&mut self, kind: ListKind, now: Instant) {
        self.due(kind, now + DEBOUNCE);
    }

    /// A list was requested and not answered.
    pub(crate) fn mark_later(&mut self, kind: ListKind, now: Instant) {
        self.due(kind, now + LATER);
    }

    /// A list expires after `fresh_for`, clamped so that it is read at most once a minute and at
    /// least once a day.
    pub(crate) fn mark_stale(&mut self, kind: ListKind, now: Instant, fresh_for: Duration) {
        self.due(kind, now + fresh_for.clamp(SHORTEST_FRESH, LONGEST_FRESH));
    }

    fn due(&mut self, kind: ListKind, at: Instant) {
        let due = &mut self.0.entry(kind).or_default().due;
        *due = Some(due.map_or(at, |before| before.min(at)));
    }

    /// When the next list is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.values().filter(|state| !state.reading).filter_map(|state| state.due).min()
    }

    /// Returns the lists that are due and marks them as being read.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<ListKind> {
        let mut due = Vec::new();
        for (kind, state) in &mut self.0 {
            if !state.reading && state.due.is_some_and(|at| at <= now) {
                *state = RefreshState { due: None, reading: true };
                due.push(*kind);
            }
        }
        due
    }

    /// Marks the read of a list as finished.
    pub(crate) fn done(&mut self, kind: ListKind) {
        self.0.entry(kind).or_default().reading = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debounces_changes_and_keeps_later_ones() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut refresh = ListRefresh::default();
        assert_eq!(refresh.next(), None);
        refresh.mark(ListKind::Tools, at(0));
        refresh.mark(ListKind::Tools, at(150));
        refresh.mark(ListKind::Prompts, at(100));
        assert_eq!(refresh.next(), Some(at(200)), "a later change does not move it");
        assert!(refresh.take_due(at(199)).is_empty());
        assert_eq!(refresh.take_due(at(200)), [ListKind::Tools]);
        assert_eq!(refresh.next(), Some(at(300)));
        refresh.mark(ListKind::Tools, at(210));
        assert_eq!(refresh.take_due(at(500)), [ListKind::Prompts], "never two readings of a list at once");
        assert_eq!(refresh.next(), None);
        refresh.done(ListKind::Tools);
        assert_eq!(refresh.next(), Some(at(410)));
        assert_eq!(refresh.take_due(at(500)), [ListKind::Tools]);
    }
}
