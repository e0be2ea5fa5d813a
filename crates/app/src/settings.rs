//! Settings of Gatehouse as a whole: loaded at the start and changed by commands. Retention is applied
//! at once and then daily; nothing else ever deletes audit entries. While the settings fail
//! verification, nothing is deleted and MCP stays off.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::command::Authority;
use gatehouse_model::{Problem, Settings, Timestamp};
use gatehouse_store::{Retention, SealError, Store, StoreError};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::facade::Parts;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// The settings in force, and what is wrong with the stored ones.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) settings: Settings,
    pub(crate) problem: Option<Problem>,
}

impl Held {
    /// Settings that passed verification.
    pub(crate) fn believed(settings: Settings) -> Self {
        Self { settings, problem: None }
    }

    fn doubted(error: SealError) -> Self {
        let mut problem = Problem::from(error);
        problem.why =
            Some("Until they are set anew, MCP is switched off and nothing old is let go of.".into());
        problem.todo = Some(
            "Set them with `gatehousectl settings set`, or begin with the usual ones: `gatehousectl servers on`."
                .into(),
        );
        Self { settings: Settings { mcp_on: false, ..Settings::default() }, problem: Some(problem) }
    }
}

/// Loads the settings. Blocks.
pub(crate) fn load(store: &Store) -> Held {
    match store.settings().load() {
        Ok(settings) => Held::believed(settings.unwrap_or_default()),
        Err(error) => {
            tracing::error!(%error, "the settings cannot be believed");
            Held::doubted(error)
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
    store.settings().save_anew(settings)
}

/// Deletes entries that are older than the settings allow. The caller holds the settings lock.
pub(crate) async fn retain(parts: &Parts, held: &Held) -> Result<(), Problem> {
    if held.problem.is_some() {
        return parts
            .on_store(|store| {
                store.activity().keep(Retention::EVERYTHING);
                Ok(())
            })
            .await;
    }
    let (settings, now) = (held.settings.clone(), parts.clock.now());
    let gone = parts
        .on_store(move |store| {
            store.activity().keep(Retention::of(&settings));
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
pub(crate) struct Daily {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Daily {
    pub(crate) fn start(parts: &Arc<Parts>) -> Self {
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (parts, stop) = (Arc::clone(parts), cancel.clone());
        tasks.spawn(async move {
            let mut days = tokio::time::interval(DAY);
            days.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = days.tick() => {}
                }
                // Not in the branch above: retention that has begun is finished.
                let held = parts.settings.lock().await;
                if let Err(problem) = retain(&parts, &held).await {
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

impl Drop for Daily {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
