//! How long to wait before the next attempt to connect, and when to give up (SRV-4). Arithmetic
//! only; the current time and the random number are passed in.

use std::time::Duration;

use gatehouse_model::status::FailureKind;

/// Retries after the first attempt of a series.
pub(crate) const MAX_RETRIES: u32 = 5;

/// Longest wait.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(30);

/// Largest deviation of a wait from its base value, as a fraction.
const SPREAD: f64 = 0.2;

/// A number from 0 to 1 that spreads waits, so that servers that failed together don't reconnect
/// together. 0.5 gives the base value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Jitter(f64);

impl Jitter {
    /// No spread.
    pub(crate) const NONE: Self = Self(0.5);

    /// From 64 random bits.
    pub(crate) fn from_random(bits: u64) -> Self {
        Self(f64::from(u32::try_from(bits >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX))
    }

    /// From the system's random number generator; no spread if that fails.
    pub(crate) fn random() -> Self {
        let mut bytes = [0_u8; 8];
        match getrandom::fill(&mut bytes) {
            Ok(()) => Self::from_random(u64::from_le_bytes(bytes)),
            Err(_) => Self::NONE,
        }
    }
}

/// Whether another attempt may help.
pub(crate) fn is_retryable(kind: FailureKind) -> bool {
    match kind {
        FailureKind::TemporaryNetwork | FailureKind::Unknown => true,
        FailureKind::PermanentNetwork
        | FailureKind::Configuration
        | FailureKind::Authorization
        | FailureKind::Protocol => false,
    }
}

/// The wait after `failed` attempts in a series (1 for the first): 1, 2, 4, 8, 16 s, then [`MAX_WAIT`].
pub(crate) fn backoff_after(failed: u32, jitter: Jitter) -> Duration {
    let round = Duration::from_secs(1_u64 << failed.saturating_sub(1).min(5)).min(MAX_WAIT);
    round.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * jitter.0).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let waits: Vec<u64> = (1..=8).map(|failed| backoff_after(failed, Jitter::NONE).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[test]
    fn spread_stays_within_a_fifth_and_under_the_cap() {
        for failed in 1..=10 {
            let round = backoff_after(failed, Jitter::NONE).as_secs_f64();
            for bits in [0, 1 << 40, u64::MAX / 2, u64::MAX] {
                let wait = backoff_after(failed, Jitter::from_random(bits));
                assert!(wait <= MAX_WAIT);
                assert!(
                    (wait.as_secs_f64() - round).abs() <= round * SPREAD + 1e-6,
                    "{failed} {bits}: {wait:?}"
                );
            }
        }
    }

    #[test]
    fn only_temporary_and_unknown_failures_are_retried() {
        let kinds = [
            (FailureKind::TemporaryNetwork, true),
            (FailureKind::Unknown, true),
            (FailureKind::PermanentNetwork, false),
            (FailureKind::Configuration, false),
            (FailureKind::Authorization, false),
            (FailureKind::Protocol, false),
        ];
        for (kind, retried) in kinds {
            assert_eq!(is_retryable(kind), retried, "{kind:?}");
        }
    }
}
