//! Time limits of requests (SRV-8). The clock is paused while the server waits for our answer to a
//! request of its own; all other waiting for the user happens before a request is sent.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::CallLimits;
use gatehouse_model::server::ServerLimits;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::RequestError;

/// Polling interval while a clock is paused.
const PAUSED_POLL: Duration = Duration::from_millis(200);

/// Time limits of a request; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallLimit {
    /// Longest time without progress.
    pub silent: Option<Duration>,
    /// Longest time in all.
    pub cap: Option<Duration>,
}

impl CallLimit {
    /// The limits of a server's tool calls; `all` provides the defaults.
    #[must_use]
    pub fn for_calls(limits: &ServerLimits, all: &CallLimits) -> Self {
        Self { silent: limits.call(all), cap: limits.call_cap(all) }
    }

    /// At most `span` in all.
    #[must_use]
    pub fn total(span: Duration) -> Self {
        Self { silent: None, cap: Some(span) }
    }

    /// No limit: for event streams only.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Runs a request under this limit. At the limit or on cancellation, `work` is dropped.
    pub(crate) async fn run<T>(
        self,
        work: impl Future<Output = Result<T, RequestError>>,
        clock: &RequestClock,
        cancel: &CancellationToken,
    ) -> Result<T, RequestError> {
        let mut work = pin!(work);
        loop {
            let (active, quiet) = clock.elapsed();
            let left = [
                self.cap.map(|cap| cap.saturating_sub(active)),
                self.silent.map(|silent| silent.saturating_sub(quiet)),
            ];
            if left.first().is_some_and(|left| *left == Some(Duration::ZERO)) {
                return Err(RequestError::TimedOut { after: self.cap.unwrap_or_default() });
            }
            if left.last().is_some_and(|left| *left == Some(Duration::ZERO)) {
                return Err(RequestError::TimedOut { after: self.silent.unwrap_or_default() });
            }
            let next = left.into_iter().flatten().min();
            let over = async {
                match next {
                    // While the clock is paused no time passes, so this polls.
                    Some(left) => {
                        tokio::time::sleep(if clock.is_paused() { left.max(PAUSED_POLL) } else { left }).await
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = cancel.cancelled() => return Err(RequestError::Cancelled),
                () = over => {}
            }
        }
    }
}

/// Clock of a request: time since its start and since its last progress, excluding the time in
/// which the server waits for our answer to a request of its own (SRV-8).
pub(crate) struct RequestClock {
    begun: Instant,
    state: Mutex<ClockState>,
}

#[derive(Default)]
struct ClockState {
    /// Active time at the last progress.
    progress: Duration,
    /// Total time of finished pauses.
    held: Duration,
    /// Number of the server's unanswered requests, and when the current pause began.
    waiting: u32,
    since: Option<Instant>,
}

impl ClockState {
    fn active(&self, begun: Instant) -> Duration {
        let now = Instant::now();
        let present = self.since.map(|since| now.saturating_duration_since(since)).unwrap_or_default();
        now.saturating_duration_since(begun).saturating_sub(self.held + present)
    }
}

impl RequestClock {
    /// Starts a clock now.
    pub(crate) fn now() -> Self {
        Self { begun: Instant::now(), state: Mutex::default() }
    }

    /// Records progress.
    pub(crate) fn progress(&self) {
        let mut state = self.state.lock();
        state.progress = state.active(self.begun);
    }

    /// Pauses the clock until the returned guard is dropped.
    pub(crate) fn pause(self: &Arc<Self>) -> ClockHold {
        let mut state = self.state.lock();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        drop(state);
        ClockHold(Arc::clone(self))
    }

    fn is_paused(&self) -> bool {
        self.state.lock().waiting > 0
    }

    /// Active time, in all and since the last progress.
    fn elapsed(&self) -> (Duration, Duration) {
        let state = self.state.lock();
        let active = state.active(self.begun);
        (active, active.saturating_sub(state.progress))
    }
}

/// Pauses the clock of a request until dropped.
pub(crate) struct ClockHold(Arc<RequestClock>);

impl Drop for ClockHold {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting == 0
            && let Some(since) = state.since.take()
        {
            state.held += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::server::TimeLimit;

    use super::*;

    const SILENT: Duration = Duration::from_secs(10);

    async fn never() -> Result<(), RequestError> {
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn times_out_after_silence() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 100) };
        let begun = Instant::now();
        let error = limit.run(never(), &RequestClock::now(), &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT));
        assert_eq!(begun.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_resets_silence_but_not_total() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 3) };
        let clock = Arc::new(RequestClock::now());
        let begun = Instant::now();
        let teller = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(SILENT / 2).await;
                    clock.progress();
                }
            })
        };
        let error = limit.run(never(), &clock, &CancellationToken::new()).await.unwrap_err();
        teller.abort();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT * 3));
        assert_eq!(begun.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn paused_clock_does_not_advance() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 2) };
        let clock = Arc::new(RequestClock::now());
        let (first, second) = (clock.pause(), clock.pause());
        let answerer = tokio::spawn(async move {
            tokio::time::sleep(SILENT * 50).await;
            drop(first);
            tokio::time::sleep(SILENT * 50).await;
            drop(second);
        });
        let begun = Instant::now();
        let error = limit.run(never(), &clock, &CancellationToken::new()).await.unwrap_err();
        answerer.await.unwrap();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT));
        assert!((1010..1012).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn resolves_server_global_and_unlimited_limits() {
        let secs = |limit: Option<Duration>| limit.map(|limit| limit.as_secs());
        let usual = CallLimits::default();
        let short = CallLimits { silent_secs: Some(7), cap_secs: Some(9) };
        let none = CallLimits { silent_secs: None, cap_secs: None };
        for (own, own_cap, all, silent, cap) in [
            (TimeLimit::Default, TimeLimit::Default, usual, Some(300), Some(3600)),
            (TimeLimit::Default, TimeLimit::Default, short, Some(7), Some(9)),
            (TimeLimit::Default, TimeLimit::Default, none, None, None),
            (TimeLimit::Secs(5), TimeLimit::Unlimited, short, Some(5), None),
            (TimeLimit::Unlimited, TimeLimit::Secs(5), none, None, Some(5)),
        ] {
            let limits = ServerLimits { call_secs: own, call_cap_secs: own_cap, ..ServerLimits::default() };
            let limit = CallLimit::for_calls(&limits, &all);
            assert_eq!((secs(limit.silent), secs(limit.cap)), (silent, cap), "{own:?} {own_cap:?} {all:?}");
        }
        // Without a limit a call may take any time.
        let limits = ServerLimits {
            call_secs: TimeLimit::Unlimited,
            call_cap_secs: TimeLimit::Unlimited,
            ..ServerLimits::default()
        };
        let begun = Instant::now();
        let slow = async {
            tokio::time::sleep(Duration::from_secs(30 * 3600)).await;
            Ok(())
        };
        let limit = CallLimit::for_calls(&limits, &usual);
        limit.run(slow, &RequestClock::now(), &CancellationToken::new()).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 3600);
    }

    #[tokio::test(start_paused = true)]
    async fn runs_without_limit_until_cancelled() {
        let cancel = CancellationToken::new();
        let canceller = {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(SILENT * 1000).await;
                cancel.cancel();
            })
        };
        let error = CallLimit::none().run(never(), &RequestClock::now(), &cancel).await.unwrap_err();
        canceller.await.unwrap();
        assert!(matches!(error, RequestError::Cancelled));
    }
}
