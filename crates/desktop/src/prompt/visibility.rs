//! When the prompt window is shown and hidden, as a pure state machine: inputs and the time go in,
//! effects come out. Invariants: the window is never shown for a request that the user already put away,
//! and the notice of how the last request ended never vanishes at once from under the pointer.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gatehouse_model::ApprovalId;

/// How long the window stays after the last request ended, so that its outcome can be read.
pub(crate) const HIDE_DELAY: Duration = Duration::from_secs(4);

/// Input of the state machine.
#[derive(Clone, Debug)]
pub(crate) enum PromptInput {
    /// A new approval request.
    Requested(ApprovalId),
    /// An approval request has changed.
    Changed,
    /// An approval request ended, answered or not.
    Ended(ApprovalId),
    /// Snapshot: exactly these are pending.
    Snapshot(Vec<ApprovalId>),
    /// The page has subscribed.
    PageReady,
    /// The user put the window away.
    Dismissed,
    /// The user wants to see the window.
    Raise,
    /// Time passed.
    Tick,
}

/// Output of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptEffect {
    /// Show the window without taking the keyboard focus, and arm the guard.
    Show,
    /// Bring the window to the front with the keyboard focus, and arm the guard.
    Raise,
    /// Arm the guard again while the window stays as it is.
    Rearm,
    /// Make the page read again.
    Reread,
    /// Hide the window.
    Hide,
}

/// State of the approval requests and of the window.
#[derive(Debug, Default)]
pub(crate) struct PromptVisibility {
    pending: BTreeSet<ApprovalId>,
    shown: bool,
    /// Since when nothing is pending while the window still shows the last outcomes.
    empty_since: Option<Instant>,
}

impl PromptVisibility {
    /// Processes an input.
    pub(crate) fn transition(&mut self, input: PromptInput, now: Instant) -> Vec<PromptEffect> {
        match input {
            PromptInput::Requested(id) => {
                let new = self.pending.insert(id);
                self.queue_changed(new, now)
            }
            PromptInput::Changed => self.reread(),
            PromptInput::Ended(id) => {
                self.pending.remove(&id);
                self.queue_changed(false, now)
            }
            PromptInput::Snapshot(ids) => {
                let before = std::mem::replace(&mut self.pending, ids.into_iter().collect());
                let new = self.pending.difference(&before).next().is_some();
                self.queue_changed(new, now)
            }
            PromptInput::PageReady if self.shown => vec![PromptEffect::Rearm],
            PromptInput::Dismissed if self.shown => self.hide(),
            PromptInput::Raise if self.shown => vec![PromptEffect::Raise],
            PromptInput::Raise if !self.pending.is_empty() => {
                self.shown = true;
                vec![PromptEffect::Raise, PromptEffect::Reread]
            }
            PromptInput::Tick if self.next_wakeup().is_some_and(|at| at <= now) => self.hide(),
            PromptInput::PageReady | PromptInput::Dismissed | PromptInput::Raise | PromptInput::Tick => {
                Vec::new()
            }
        }
    }

    /// Whether the window is hidden and no request is pending.
    pub(crate) fn is_idle(&self) -> bool {
        !self.shown && self.pending.is_empty()
    }

    /// When an [`PromptInput::Tick`] is needed next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        self.empty_since.map(|since| since + HIDE_DELAY)
    }

    /// The set of pending requests has changed; `new` says whether one was added.
    fn queue_changed(&mut self, new: bool, now: Instant) -> Vec<PromptEffect> {
        if !self.shown {
            if !new {
                return Vec::new();
            }
            self.shown = true;
            return vec![PromptEffect::Show, PromptEffect::Reread];
        }
        if self.pending.is_empty() {
            self.empty_since.get_or_insert(now);
            return self.reread();
        }
        // A request that appears in a window with outcomes only is guarded like a window that comes up.
        match self.empty_since.take() {
            Some(_) => vec![PromptEffect::Rearm, PromptEffect::Reread],
            None => self.reread(),
        }
    }

    fn reread(&self) -> Vec<PromptEffect> {
        if self.shown { vec![PromptEffect::Reread] } else { Vec::new() }
    }

    fn hide(&mut self) -> Vec<PromptEffect> {
        self.shown = false;
        self.empty_since = None;
        vec![PromptEffect::Hide]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PromptEffect::{Hide, Raise, Rearm, Reread, Show};

    /// Milliseconds since the start, the input, and the expected effects.
    type VisibilityStep = (u64, PromptInput, &'static [PromptEffect]);

    fn requested(id: &str) -> PromptInput {
        PromptInput::Requested(id.into())
    }

    fn ended(id: &str) -> PromptInput {
        PromptInput::Ended(id.into())
    }

    fn all(ids: &[&str]) -> PromptInput {
        PromptInput::Snapshot(ids.iter().map(|id| ApprovalId::from(*id)).collect())
    }

    fn play(story: &str, rows: &[VisibilityStep]) {
        let begin = Instant::now();
        let mut visibility = PromptVisibility::default();
        for (number, (after, input, expected)) in rows.iter().enumerate() {
            let done = visibility.transition(input.clone(), begin + Duration::from_millis(*after));
            assert_eq!(done, *expected, "{story}, step {number}: {input:?}");
        }
    }

    #[test]
    fn shows_window_for_requests_and_hides_after_last() {
        play(
            "one request",
            &[
                (0, requested("a"), &[Show, Reread]),
                (10, PromptInput::PageReady, &[Rearm]),
                (900, ended("a"), &[Reread]),
                (4_899, PromptInput::Tick, &[]),
                (4_900, PromptInput::Tick, &[Hide]),
                (9_000, PromptInput::Tick, &[]),
            ],
        );
        play(
            "two at a time",
            &[
                (0, requested("a"), &[Show, Reread]),
                (1, requested("b"), &[Reread]),
                (2, PromptInput::Changed, &[Reread]),
                (3, ended("a"), &[Reread]),
                (9_000, PromptInput::Tick, &[]),
                (9_001, ended("b"), &[Reread]),
                (13_001, PromptInput::Tick, &[Hide]),
            ],
        );
    }

    #[test]
    fn next_request_replaces_tombstone() {
        play(
            "a request arrives while the last outcome is shown",
            &[
                (0, requested("a"), &[Show, Reread]),
                (900, ended("a"), &[Reread]),
                (2_000, requested("b"), &[Rearm, Reread]),
                (9_000, PromptInput::Tick, &[]),
            ],
        );
        play(
            "a request that ended twice is not shown for longer",
            &[
                (0, requested("a"), &[Show, Reread]),
                (100, ended("a"), &[Reread]),
                (3_000, ended("a"), &[Reread]),
                (4_100, PromptInput::Tick, &[Hide]),
            ],
        );
    }

    #[test]
    fn dismissed_window_returns_only_for_new_request() {
        play(
            "put away",
            &[
                (0, requested("a"), &[Show, Reread]),
                (1, PromptInput::Dismissed, &[Hide]),
                (2, PromptInput::Dismissed, &[]),
                (3, PromptInput::Changed, &[]),
                (4, requested("a"), &[]),
                (5, all(&["a"]), &[]),
                (6, PromptInput::PageReady, &[]),
                (7, PromptInput::Tick, &[]),
                (8, requested("b"), &[Show, Reread]),
            ],
        );
        play(
            "put away while the last outcome is shown",
            &[
                (0, requested("a"), &[Show, Reread]),
                (1, ended("a"), &[Reread]),
                (2, PromptInput::Dismissed, &[Hide]),
                (9_000, PromptInput::Tick, &[]),
            ],
        );
    }

    #[test]
    fn user_can_raise_window_while_requests_are_pending() {
        play(
            "raised",
            &[
                (0, PromptInput::Raise, &[]),
                (1, requested("a"), &[Show, Reread]),
                (2, PromptInput::Raise, &[Raise]),
                (3, PromptInput::Dismissed, &[Hide]),
                (4, PromptInput::Raise, &[Raise, Reread]),
                (5, ended("a"), &[Reread]),
                (6, PromptInput::Raise, &[Raise]),
            ],
        );
    }

    #[test]
    fn snapshot_replaces_missed_events() {
        play(
            "requests from before",
            &[(0, all(&[]), &[]), (1, all(&["a"]), &[Show, Reread]), (2, requested("a"), &[Reread])],
        );
        play(
            "other requests than before",
            &[
                (0, requested("a"), &[Show, Reread]),
                (1, PromptInput::Dismissed, &[Hide]),
                (2, all(&["b"]), &[Show, Reread]),
                (3, all(&[]), &[Reread]),
                (4_003, PromptInput::Tick, &[Hide]),
            ],
        );
    }
}
