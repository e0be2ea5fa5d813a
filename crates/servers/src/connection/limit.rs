//! How long a request may take (SRV-8). Waiting for a person happens before a request is sent, so
//! this clock never stops.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::server::Limits;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::RequestError;

/// How long a request may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallLimit {
    /// Without progress.
    pub(crate) silent: Option<Duration>,
    /// In all.
    pub(crate) cap: Option<Duration>,
}

impl CallLimit {
    /// The limits of a server's tool calls.
    pub(crate) fn of_calls(limits: &Limits) -> Self {
        Self { silent: limits.call(), cap: Some(limits.call_cap()) }
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
        let begun = heard.begun;
        let end = self.cap.and_then(|cap| begun.checked_add(cap));
        loop {
            let silent_until = self.silent.and_then(|silent| heard.last().checked_add(silent));
            let next = [silent_until, end].into_iter().flatten().min();
            let over = async {
                match next {
                    Some(moment) => tokio::time::sleep_until(moment).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = cancel.cancelled() => return Err(RequestError::Cancelled),
                () = over => {
                    let now = Instant::now();
                    if end.is_some_and(|end| end <= now) {
                        return Err(RequestError::TimedOut { after: self.cap.unwrap_or_default() });
                    }
                    if let Some(silent) = self.silent
                        && heard.last().checked_add(silent).is_some_and(|moment| moment <= now)
                    {
                        return Err(RequestError::TimedOut { after: silent });
                    }
                }
            }
        }
    }
}

/// When a request last made progress.
pub(crate) struct Heard {
    begun: Instant,
    millis: AtomicU64,
}

impl Heard {
    /// Begins now.
    pub(crate) fn now() -> Self {
        Self { begun: Instant::now(), millis: AtomicU64::new(0) }
    }

    /// There was progress.
    pub(crate) fn progress(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.begun + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
