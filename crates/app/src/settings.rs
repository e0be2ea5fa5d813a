//! Settings of Gatehouse as a whole: loaded at the start and changed by commands. Retention is applied
//! at once and then daily; nothing else ever deletes audit entries. While the settings fail
//! verification, nothing is deleted and MCP stays off.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::command::Authority;
use gatehouse_model::{Settings, Timestamp, UserError};
use gatehouse_store::{Retention, SealError, Store, StoreError};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::command_service::AppState;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The settings in force, and what is wrong with the stored ones.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveSettings {
    pub(crate) settings: Settings,
    pub(crate) problem: Option<UserError>,
}

impl EffectiveSettings {
    /// Settings that passed verification.
    pub(crate) fn verified(settings: Settings) -> Self {
        Self { settings, problem: None }
    }

    fn unverified(error: SealError) -> Self {
        let mut problem = UserError::from(error);
        problem.cause =
            Some("Until they are set anew, MCP is switched off and nothing old is let go of.".into());
        problem.hint = Some(
            "Set them with `gatehousectl settings set`, or begin with the usual ones: `gatehousectl servers on`."
                .into(),
        );
        Self { settings: Settings { mcp_on: false, ..Settings::default() }, problem: Some(problem) }
    }
}

/// Loads the settings. Blocks.
pub(crate) fn load(store: &Store) -> EffectiveSettings {
    match store.settings().load() {
        Ok(settings) => EffectiveSettings::verified(settings.unwrap_or_default()),
        Err(error) => {
            tracing::error!(%error, "the settings cannot be believed");
            EffectiveSettings::unverified(error)
        }
    }
}

/// Seals and stores settings, replacing those in force; with the operator's authority also those that
/// failed verification. Blocks.
///
/// # Errors
/// If the stored settings cannot be verified now, but perhaps later, or if writing fails.
pub(crate) fn save(store: &Store, settings: &Settings, by: Authority) -> Result<(), StoreError> {
    if by < Authority::Operator {
        return store.settings().save(settings);
    }
    match store.settings().load() {
        Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => return Err(error.into()),
        Err(error) => tracing::warn!(%error, "the settings are sealed anew"),
        Ok(_) => {}
    }
    store.settings().overwrite(settings)
}

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
                if let Err(problem) = apply_retention(&state, &effective).await {
                    tracing::error!(%problem, "what is old could not be let go of");
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
