//! Settings of Gatehouse as a whole: loaded at the start and changed by commands. While the settings fail
//! verification, nothing is deleted and MCP stays off.

use gatehouse_model::command::Authority;
use gatehouse_model::{Settings, UserError, message};
use gatehouse_store::{SealError, Store, StoreError};

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
        problem.cause = Some(message!("error.app.settingsUnverifiedCause").into());
        problem.hint = Some(message!("error.app.settingsUnverifiedHint").into());
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
