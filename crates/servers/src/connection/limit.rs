//! How long a request may take (SRV-8). The clock stands still while the server waits for an answer
//! of ours; everything else that waits for a person happens before a request is sent.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::CallLimits;
use gatehouse_model::server::Limits;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::RequestError;

/// How often a clock that stands still is looked at.
const BREATH: Duration = Duration::from_millis(200);

/// How long a request may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallLimit {
    /// Without progress.
    pub(crate) silent: Option<Duration>,
    /// In all.
    pub(crate) cap: Option<Duration>,
}

impl CallLimit {
    /// The limits of a server's tool calls; `all` holds where it has none of its own.
    pub(crate) fn of_calls(limits: &Limits, all: &CallLimits) -> Self {
        Self { silent: limits.call(all), cap: limits.call_cap(all) }
    }

    /// This long in all.
    pub(crate) fn within(span: Duration) -> Self {
        Self { silent: None, cap: Some(span) }
    }

    /// No limit: for event streams only.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Runs a request under this limit. When it gives up, `work` is dropped.
    pub(crate) async fn run<T>(
        self,
        work: impl Future<Output = Result<T, RequestError>>,
        heard: &Heard,
        cancel: &CancellationToken,
    ) -> Result<T, RequestError> {
        let mut work = pin!(work);
        loop {
            let (active, quiet) = heard.spent();
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
                    // While a person is waited for no time passes, so this looks again and again.
                    Some(left) => {
                        tokio::time::sleep(if heard.is_held() { left.max(BREATH) } else { left }).await
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

/// How a request's time is spent: since its beginning, since its last progress, and not at all while
/// the server waits for an answer of ours (SRV-8).
pub(crate) struct Heard {
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Time in use at the last progress.
    progress: Duration,
    /// Time that did not count.
    held: Duration,
    /// Questions of the server's that wait, and since when the first does.
    waiting: u32,
    since: Option<Instant>,
}

impl State {
    fn active(&self, begun: Instant) -> Duration {
        let now = Instant::now();
        let present = self.since.map(|since| now.saturating_duration_since(since)).unwrap_or_default();
        now.saturating_duration_since(begun).saturating_sub(self.held + present)
    }
}

impl Heard {
    /// Begins now.
    pub(crate) fn now() -> Self {
        Self { begun: Instant::now(), state: Mutex::default() }
    }

    /// There was progress.
    pub(crate) fn progress(&self) {
        let mut state = self.state.lock();
        state.progress = state.active(self.begun);
    }

    /// Time passes no more until what is returned is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        let mut state = self.state.lock();
        state.waiting += 1;
        state.since.get_or_insert_with(Instant::now);
        drop(state);
        Held(Arc::clone(self))
    }

    fn is_held(&self) -> bool {
        self.state.lock().waiting > 0
    }

    /// Time in use, in all and since the last progress.
    fn spent(&self) -> (Duration, Duration) {
        let state = self.state.lock();
        let active = state.active(self.begun);
        (active, active.saturating_sub(state.progress))
    }
}

/// Holds the clock of a request.
pub(crate) struct Held(Arc<Heard>);

impl Drop for Held {
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
    async fn silence_ends_a_call_after_its_limit() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 100) };
        let begun = Instant::now();
        let error = limit.run(never(), &Heard::now(), &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT));
        assert_eq!(begun.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn progress_resets_silence_but_not_the_cap() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 3) };
        let heard = Arc::new(Heard::now());
        let begun = Instant::now();
        let teller = {
            let heard = Arc::clone(&heard);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(SILENT / 2).await;
                    heard.progress();
                }
            })
        };
        let error = limit.run(never(), &heard, &CancellationToken::new()).await.unwrap_err();
        teller.abort();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT * 3));
        assert_eq!(begun.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_passes_while_a_person_is_waited_for() {
        let limit = CallLimit { silent: Some(SILENT), cap: Some(SILENT * 2) };
        let heard = Arc::new(Heard::now());
        let (first, second) = (heard.hold(), heard.hold());
        let answerer = tokio::spawn(async move {
            tokio::time::sleep(SILENT * 50).await;
            drop(first);
            tokio::time::sleep(SILENT * 50).await;
            drop(second);
        });
        let begun = Instant::now();
        let error = limit.run(never(), &heard, &CancellationToken::new()).await.unwrap_err();
        answerer.await.unwrap();
        assert!(matches!(error, RequestError::TimedOut { after } if after == SILENT));
        assert!((1010..1012).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_has_its_own_limits_those_of_all_or_none() {
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
            let limits = Limits { call_secs: own, call_cap_secs: own_cap, ..Limits::default() };
            let limit = CallLimit::of_calls(&limits, &all);
            assert_eq!((secs(limit.silent), secs(limit.cap)), (silent, cap), "{own:?} {own_cap:?} {all:?}");
        }
        // Without any limit a call outlives the hour that it had before.
        let limits = Limits {
            call_secs: TimeLimit::Unlimited,
            call_cap_secs: TimeLimit::Unlimited,
            ..Limits::default()
        };
        let begun = Instant::now();
        let slow = async {
            tokio::time::sleep(Duration::from_secs(30 * 3600)).await;
            Ok(())
        };
        let limit = CallLimit::of_calls(&limits, &usual);
        limit.run(slow, &Heard::now(), &CancellationToken::new()).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 3600);
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_means_none() {
        let cancel = CancellationToken::new();
        let canceller = {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(SILENT * 1000).await;
                cancel.cancel();
            })
        };
        let error = CallLimit::none().run(never(), &Heard::now(), &cancel).await.unwrap_err();
        canceller.await.unwrap();
        assert!(matches!(error, RequestError::Cancelled));
    }
}
