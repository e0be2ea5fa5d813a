//! The MCP registry and `gatehouse://` links as commands (UI-2). All of them only make settings for the form: adding a server
//! is a command of its own.

use std::sync::Arc;

use gatehouse_integrations::{RegistryChoice, RegistryQuery, read_link};
use gatehouse_model::command::{RegistryCheck, RegistryFill, RegistrySearch, RegistryVersions};
use gatehouse_model::registry::{LinkContent, RegistryDraft, RegistryPage, RegistryReport};
use gatehouse_model::{ErrorCode, UserError, message};
use gatehouse_store::validate_name;
use tokio_util::sync::CancellationToken;

use super::AppState;
use super::free_name::free_name;
use super::lookup::find;
use super::named_runs::NamedRun;

pub(super) async fn search(
    state: &Arc<AppState>,
    wanted: &RegistrySearch,
    gone: &CancellationToken,
) -> Result<RegistryPage, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let address = address(state).await;
    let query =
        RegistryQuery { text: &wanted.text, cursor: wanted.cursor.as_deref(), refresh: wanted.refresh };
    named.unless_cancelled(async { Ok(state.registry.search(&address, query).await?) }).await
}

pub(super) async fn versions(
    state: &Arc<AppState>,
    wanted: &RegistryVersions,
    gone: &CancellationToken,
) -> Result<RegistryPage, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let address = address(state).await;
    named.unless_cancelled(async { Ok(state.registry.versions(&address, &wanted.name).await?) }).await
}

pub(super) async fn fill(
    state: &Arc<AppState>,
    wanted: &RegistryFill,
    gone: &CancellationToken,
) -> Result<RegistryDraft, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let address = address(state).await;
    let choice = RegistryChoice {
        name: &wanted.name,
        version: &wanted.version,
        option: &wanted.option,
        values: &wanted.values,
        secrets: &wanted.secrets,
    };
    let mut filled =
        named.unless_cancelled(async { Ok(state.registry.draft(&address, choice).await?) }).await?;
    let configs = state.configs.lock().await;
    // If no number helps, the form says that the name is taken.
    let is_free = |name: &str| validate_name(name, None, &configs).is_none();
    filled.draft.name = free_name(&filled.draft.name, is_free);
    Ok(filled)
}

pub(super) async fn report(
    state: &Arc<AppState>,
    wanted: &RegistryCheck,
) -> Result<RegistryReport, UserError> {
    let config = find(state, &wanted.server)?;
    let source = config.registry.as_ref().ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.registry.notFromRegistry", server = &config.name))
    })?;
    let address = address(state).await;
    Ok(state.registry.report(&address, &config, source).await?)
}

pub(super) fn link(link: &str) -> Result<LinkContent, UserError> {
    Ok(read_link(link)?)
}

/// The address of the registry. The settings are not locked while it is asked.
async fn address(state: &AppState) -> String {
    state.settings.lock().await.settings.registry.clone()
}
