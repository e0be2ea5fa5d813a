//! When the prompt window is shown and hidden, as a pure state machine: inputs and the time go in,
//! effects come out. Invariants: the window is never shown for a request that the user already put away,
//! and the notice of how the last request ended never vanishes at once from under the pointer.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gatehouse_model::AskId;

/// How long the window stays after the last request ended, so that its outcome can be read.
pub(crate) const AFTER_THE_LAST: Duration = Duration::from_secs(4);

/// Input of the state machine.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A new approval request.
    Asked(AskId),
    /// An approval request has changed.
    Changed,
    /// An approval request ended, answered or not.
    Ended(AskId),
    /// Snapshot: exactly these are pending.
    All(Vec<AskId>),
    /// The page has subscribed.
    PageReady,
    /// The user put the window away.
    PutAway,
    /// The user wants to see the window.
    Raise,
    /// Time passed.
    Tick,
}

/// Output of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
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
pub(crate) struct Policy {
    waiting: BTreeSet<AskId>,
    shown: bool,
    /// Since when nothing is pending while the window still shows the last outcomes.
    empty_since: Option<Instant>,
}

impl Policy {
    /// Processes an input.
    pub(crate) fn take(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        match input {
            Input::Asked(ask) => {
                let new = self.waiting.insert(ask);
                self.grown(new, now)
            }
            Input::Changed => self.reread(),
            Input::Ended(ask) => {
                self.waiting.remove(&ask);
                self.grown(false, now)
            }
            Input::All(asks) => {
                let before = std::mem::replace(&mut self.waiting, asks.into_iter().collect());
                let new = self.waiting.difference(&before).next().is_some();
                self.grown(new, now)
            }
            Input::PageReady if self.shown => vec![Effect::Rearm],
            Input::PutAway if self.shown => self.hide(),
            Input::Raise if self.shown => vec![Effect::Raise],
            Input::Raise if !self.waiting.is_empty() => {
                self.shown = true;
                vec![Effect::Raise, Effect::Reread]
            }
            Input::Tick if self.wakes_at().is_some_and(|at| at <= now) => self.hide(),
            Input::PageReady | Input::PutAway | Input::Raise | Input::Tick => Vec::new(),
        }
    }

    /// When an [`Input::Tick`] is needed next.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.empty_since.map(|since| since + AFTER_THE_LAST)
    }

    /// The set of pending requests has changed; `new` says whether one was added.
    fn grown(&mut self, new: bool, now: Instant) -> Vec<Effect> {
        if !self.shown {
            if !new {
                return Vec::new();
            }
            self.shown = true;
            return vec![Effect::Show, Effect::Reread];
        }
        if self.waiting.is_empty() {
            self.empty_since.get_or_insert(now);
            return self.reread();
        }
        // A request that appears in a window with outcomes only is guarded like a window that comes up.
        match self.empty_since.take() {
            Some(_) => vec![Effect::Rearm, Effect::Reread],
            None => self.reread(),
        }
    }

    fn reread(&self) -> Vec<Effect> {
        if self.shown { vec![Effect::Reread] } else { Vec::new() }
    }

    fn hide(&mut self) -> Vec<Effect> {
        self.shown = false;
        self.empty_since = None;
        vec![Effect::Hide]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Effect::{Hide, Raise, Rearm, Reread, Show};

    /// Milliseconds since the start, the input, and the expected effects.
    type Row = (u64, Input, &'static [Effect]);

    fn asked(id: &str) -> Input {
        Input::Asked(id.into())
    }

    fn ended(id: &str) -> Input {
        Input::Ended(id.into())
    }

    fn all(ids: &[&str]) -> Input {
        Input::All(ids.iter().map(|id| AskId::from(*id)).collect())
    }

    fn play(story: &str, rows: &[Row]) {
        let begin = Instant::now();
        let mut policy = Policy::default();
        for (number, (after, input, expected)) in rows.iter().enumerate() {
            let done = policy.take(input.clone(), begin + Duration::from_millis(*after));
            assert_eq!(done, *expected, "{story}, step {number}: {input:?}");
        }
    }

    #[test]
    fn questions_bring_the_window_up_and_take_it_along() {
        play(
            "one question",
            &[
                (0, asked("a"), &[Show, Reread]),
                (10, Input::PageReady, &[Rearm]),
                (900, ended("a"), &[Reread]),
                (4_899, Input::Tick, &[]),
                (4_900, Input::Tick, &[Hide]),
                (9_000, Input::Tick, &[]),
            ],
        );
        play(
            "two at a time",
            &[
                (0, asked("a"), &[Show, Reread]),
                (1, asked("b"), &[Reread]),
                (2, Input::Changed, &[Reread]),
                (3, ended("a"), &[Reread]),
                (9_000, Input::Tick, &[]),
                (9_001, ended("b"), &[Reread]),
                (13_001, Input::Tick, &[Hide]),
            ],
        );
    }

    #[test]
    fn the_tombstone_gives_way_to_the_next_question() {
        play(
            "a question comes while the last tombstone stands",
            &[
                (0, asked("a"), &[Show, Reread]),
                (900, ended("a"), &[Reread]),
                (2_000, asked("b"), &[Rearm, Reread]),
                (9_000, Input::Tick, &[]),
            ],
        );
        play(
            "what ended twice does not stay longer",
            &[
                (0, asked("a"), &[Show, Reread]),
                (100, ended("a"), &[Reread]),
                (3_000, ended("a"), &[Reread]),
                (4_100, Input::Tick, &[Hide]),
            ],
        );
    }

    #[test]
    fn a_window_that_was_put_away_comes_back_with_a_new_question_only() {
        play(
            "put away",
            &[
                (0, asked("a"), &[Show, Reread]),
                (1, Input::PutAway, &[Hide]),
                (2, Input::PutAway, &[]),
                (3, Input::Changed, &[]),
                (4, asked("a"), &[]),
                (5, all(&["a"]), &[]),
                (6, Input::PageReady, &[]),
                (7, Input::Tick, &[]),
                (8, asked("b"), &[Show, Reread]),
            ],
        );
        play(
            "put away while its tombstone stands",
            &[
                (0, asked("a"), &[Show, Reread]),
                (1, ended("a"), &[Reread]),
                (2, Input::PutAway, &[Hide]),
                (9_000, Input::Tick, &[]),
            ],
        );
    }

    #[test]
    fn the_user_can_have_it_while_something_waits() {
        play(
            "raised",
            &[
                (0, Input::Raise, &[]),
                (1, asked("a"), &[Show, Reread]),
                (2, Input::Raise, &[Raise]),
                (3, Input::PutAway, &[Hide]),
                (4, Input::Raise, &[Raise, Reread]),
                (5, ended("a"), &[Reread]),
                (6, Input::Raise, &[Raise]),
            ],
        );
    }

    #[test]
    fn a_reading_of_all_stands_for_what_was_missed() {
        play(
            "questions from before",
            &[(0, all(&[]), &[]), (1, all(&["a"]), &[Show, Reread]), (2, asked("a"), &[Reread])],
        );
        play(
            "others than before",
            &[
                (0, asked("a"), &[Show, Reread]),
                (1, Input::PutAway, &[Hide]),
                (2, all(&["b"]), &[Show, Reread]),
                (3, all(&[]), &[Reread]),
                (4_003, Input::Tick, &[Hide]),
            ],
        );
    }
}
