//! The shell's half of the click guard (PERM-9): no answer is accepted until the window was up for half
//! a second, so that a click or key meant for another window cannot approve a call. It must hold even if
//! the page is wrong about the time, so it does not depend on the page.

use std::time::{Duration, Instant};

use gatehouse_model::{ErrorCode, UserError, message};
use parking_lot::Mutex;

/// How long a window has to be up before an answer is accepted.
const INPUT_DELAY: Duration = Duration::from_millis(500);

/// Records since when the window is up.
#[derive(Debug, Default)]
pub(crate) struct InputDelay(Mutex<Option<Instant>>);

impl InputDelay {
    /// The window came up, was raised, or shows its first approval request.
    pub(crate) fn arm(&self, now: Instant) {
        *self.0.lock() = Some(now);
    }

    /// The window was hidden.
    pub(crate) fn close(&self) {
        *self.0.lock() = None;
    }

    /// Refuses answers that come too soon, or from a hidden window.
    pub(crate) fn check(&self, now: Instant) -> Result<(), UserError> {
        let up = self.0.lock().map(|since| now.saturating_duration_since(since));
        let why = match up {
            Some(up) if up >= INPUT_DELAY => return Ok(()),
            Some(_) => message!("error.desktop.answerTooSoon"),
            None => message!("error.desktop.promptHidden"),
        };
        Err(UserError::new(ErrorCode::NotPermitted, message!("error.desktop.answerRefused"))
            .with_cause(why)
            .with_hint(message!("error.desktop.answerRefusedHint")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_answers_after_input_delay() {
        let begin = Instant::now();
        let at = |millis| begin + Duration::from_millis(millis);
        let guard = InputDelay::default();
        assert!(guard.check(at(5_000)).is_err(), "never shown");
        guard.arm(at(1_000));
        for (millis, taken) in [(0, false), (1_000, false), (1_499, false), (1_500, true), (9_000, true)] {
            assert_eq!(guard.check(at(millis)).is_ok(), taken, "at {millis} ms");
        }
        guard.arm(at(9_000));
        assert!(guard.check(at(9_100)).is_err(), "raised");
        assert!(guard.check(at(9_500)).is_ok());
        guard.close();
        assert!(guard.check(at(20_000)).is_err(), "put away");
    }
}
