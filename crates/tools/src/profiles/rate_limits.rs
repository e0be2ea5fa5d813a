//! Counts the calls of each client against the limit of its profile: at most so many in any 60 seconds. A refused call
//! doesn't count, so a client that keeps trying gets its calls through as soon as there is room.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use gatehouse_model::{ClientId, Rule};
use parking_lot::Mutex;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(60);

/// A call that is refused because of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimited {
    pub(crate) per_minute: u32,
    /// Until there is room for the call.
    pub(crate) wait: Duration,
}

impl RateLimited {
    pub(crate) fn rule(&self) -> Rule {
        Rule::RateLimited { per_minute: self.per_minute }
    }
}

/// The calls of the last minute, by client.
#[derive(Debug, Default)]
pub(crate) struct RateLimits(Mutex<HashMap<ClientId, VecDeque<Instant>>>);

impl RateLimits {
    /// Counts a call.
    ///
    /// # Errors
    /// If the client has made `per_minute` calls within a minute.
    pub(crate) fn admit(&self, client: &ClientId, per_minute: u32) -> Result<(), RateLimited> {
        let now = Instant::now();
        let mut clients = self.0.lock();
        let calls = clients.entry(client.clone()).or_default();
        while calls.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            calls.pop_front();
        }
        let limit = usize::try_from(per_minute).unwrap_or(usize::MAX);
        // The limit may have been lowered since, so there can be more calls than it.
        let blocking = calls.len().checked_sub(limit).and_then(|at| calls.get(at));
        if let Some(first) = blocking {
            return Err(RateLimited { per_minute, wait: WINDOW.saturating_sub(now.duration_since(*first)) });
        }
        calls.push_back(now);
        Ok(())
    }

    /// Forgets a client that was revoked.
    pub(crate) fn forget(&self, client: &ClientId) {
        self.0.lock().remove(client);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn after(per_minute: u32, secs: u64) -> RateLimited {
        RateLimited { per_minute, wait: Duration::from_secs(secs) }
    }

    #[tokio::test(start_paused = true)]
    async fn admits_so_many_calls_in_any_minute() {
        let limits = RateLimits::default();
        let (one, other): (ClientId, ClientId) = ("one".into(), "other".into());
        assert_eq!(limits.admit(&one, 2), Ok(()));
        advance(Duration::from_secs(20)).await;
        assert_eq!(limits.admit(&one, 2), Ok(()));
        for _ in 0..3 {
            assert_eq!(limits.admit(&one, 2), Err(after(2, 40)), "refused calls don't count");
        }
        assert_eq!(limits.admit(&other, 2), Ok(()), "each client has its own count");
        advance(Duration::from_secs(40)).await;
        assert_eq!(limits.admit(&one, 2), Ok(()));
        assert_eq!(limits.admit(&one, 2), Err(after(2, 20)));
        assert_eq!(limits.admit(&one, 1), Err(after(1, 60)), "a limit that was lowered");
        assert_eq!(limits.admit(&one, 3), Ok(()));
        limits.forget(&one);
        assert_eq!(limits.admit(&one, 1), Ok(()));
    }
}
