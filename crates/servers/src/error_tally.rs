//! Counts the errors of a server within the last hour, per minute, so that memory is bounded.

use std::collections::VecDeque;

use gatehouse_model::Timestamp;

const MINUTE_MS: i64 = 60_000;
/// Length of the window, in minutes.
const MINUTES: i64 = 60;

/// Errors of one server per minute, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ErrorTally(VecDeque<(i64, u32)>);

impl ErrorTally {
    pub(crate) fn add(&mut self, at: Timestamp) {
        let minute = self.forget_old(at);
        match self.0.back_mut() {
            Some((last, count)) if *last == minute => *count = count.saturating_add(1),
            _ => self.0.push_back((minute, 1)),
        }
    }

    /// Number of errors within the last hour.
    pub(crate) fn count(&mut self, now: Timestamp) -> u32 {
        self.forget_old(now);
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Drops entries outside of the last hour, including those in the future after the clock was
    /// set back. Returns the current minute.
    fn forget_old(&mut self, now: Timestamp) -> i64 {
        let minute = now.0.div_euclid(MINUTE_MS);
        self.0.retain(|(at, _)| *at <= minute && *at > minute - MINUTES);
        minute
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp(minute * MINUTE_MS + 7)
    }

    #[test]
    fn counts_the_last_hour_in_bounded_memory() {
        let mut tally = ErrorTally::default();
        for minute in 0..1000 {
            for _ in 0..100 {
                tally.add(at(minute));
            }
        }
        assert_eq!(tally.0.len(), 60);
        assert_eq!(tally.count(at(999)), 6000);
        assert_eq!(tally.count(at(1029)), 3000);
        assert_eq!(tally.count(at(2000)), 0);
    }

    #[test]
    fn restarts_when_clock_is_set_back() {
        let mut tally = ErrorTally::default();
        tally.add(at(500));
        assert_eq!(tally.count(at(100)), 0);
        tally.add(at(100));
        assert_eq!(tally.count(at(100)), 1);
    }
}
