//! Model providers as commands. Nothing here reads a key.

use std::sync::Arc;

use gatehouse_model::command::{ModelsAddProvider, ModelsAssign, ModelsList, ModelsSetProvider};
use gatehouse_model::provider::{ModelInfo, ModelsView, ProviderView};
use gatehouse_model::{ProviderId, UserError};
use tokio_util::sync::CancellationToken;

use super::AppState;
use super::named_runs::NamedRun;

pub(super) async fn show(state: &Arc<AppState>) -> Result<ModelsView, UserError> {
    state.models.view().await
}

pub(super) async fn add(state: &Arc<AppState>, wanted: ModelsAddProvider) -> Result<ProviderView, UserError> {
    let ModelsAddProvider { draft, key } = wanted;
    state.models.add(draft, key.as_ref().map(|key| key.reveal())).await
}

pub(super) async fn set(state: &Arc<AppState>, wanted: ModelsSetProvider) -> Result<ProviderView, UserError> {
    let ModelsSetProvider { provider, draft, key } = wanted;
    state.models.set(&provider, draft, key.as_ref().map(|key| key.reveal())).await
}

pub(super) async fn remove(state: &Arc<AppState>, provider: &ProviderId) -> Result<(), UserError> {
    state.models.remove(provider).await
}

pub(super) async fn list(
    state: &Arc<AppState>,
    wanted: &ModelsList,
    gone: &CancellationToken,
) -> Result<Vec<ModelInfo>, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let listing = async {
        let endpoint = state.models.endpoint(&wanted.provider).await?;
        Ok(state.models.client().list_models(&endpoint).await?)
    };
    named.unless_cancelled(listing).await
}

pub(super) async fn assign(state: &Arc<AppState>, wanted: ModelsAssign) -> Result<(), UserError> {
    let ModelsAssign { sampling, opinion } = wanted;
    state.models.assign(sampling, opinion).await
}
