//! Retention: applied when the settings change, at the start and then daily. Nothing else ever deletes
//! audit entries. While the settings fail verification, nothing is deleted.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Timestamp, UserError};
use gatehouse_store::Retention;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::settings::EffectiveSettings;
use crate::state::AppState;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Deletes entries that are older than the settings allow. The caller holds the settings lock.
pub(crate) async fn apply_retention(
    state: &AppState,
    effective: &EffectiveSettings,
) -> Result<(), UserError> {
    if effective.problem.is_some() {
        return state
            .with_store(|store| {
                store.activity().keep(Retention::EVERYTHING);
                Ok(())
            })
            .await;
    }
    let (settings, now) = (effective.settings.clone(), state.clock.now());
    let gone = state
        .with_store(move |store| {
            store.activity().keep(Retention::from_settings(&settings));
            match settings.audit_days {
                Some(days) => store.audit().forget_before(days_before(now, days)),
                None => Ok(0),
            }
        })
        .await?;
    if gone > 0 {
        tracing::info!(gone, "old entries of the audit were let go of");
    }
    Ok(())
}

fn days_before(now: Timestamp, days: u32) -> Timestamp {
    Timestamp(now.0.saturating_sub(i64::from(days) * 24 * 3600 * 1000))
}

/// Applies retention at the start and every day.
pub(crate) struct RetentionTask {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl RetentionTask {
    pub(crate) fn start(state: &Arc<AppState>) -> Self {
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (state, stop) = (Arc::clone(state), cancel.clone());
        tasks.spawn(async move {
            let mut days = tokio::time::interval(DAY);
            days.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = days.tick() => {}
                }
                // Not in the branch above: retention that has begun is finished.
                let effective = state.settings.lock().await;
                if let Err(error) = apply_retention(&state, &effective).await {
                    tracing::error!(%error, "what is old could not be let go of");
                }
            }
        });
        Self { cancel, tasks }
    }

    pub(crate) async fn shutdown(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for RetentionTask {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
