//! Clients and their tokens. A token is contained in the reply that creates it and nowhere else.

use std::sync::Arc;

use gatehouse_model::command::{MintedClient, RequestSecret};
use gatehouse_model::{ClientEntry, ClientId, ClientView, ErrorCode, Secret, UserError, message};

use super::AppState;

pub(super) async fn list(state: &Arc<AppState>) -> Result<Vec<ClientView>, UserError> {
    Ok(state.clients.list())
}

pub(super) async fn add(state: &Arc<AppState>, name: &str) -> Result<MintedClient, UserError> {
    let (entry, token) = state.clients.add(name).await?;
    state.tools.permissions().client_added(&entry);
    minted(state, &entry, &token)
}

pub(super) async fn rotate(state: &Arc<AppState>, client: &str) -> Result<MintedClient, UserError> {
    let (entry, token) = state.clients.rotate(client).await?;
    minted(state, &entry, &token)
}

pub(super) async fn revoke(state: &Arc<AppState>, client: &str) -> Result<(), UserError> {
    let gone = state.clients.revoke(client).await?;
    state.tools.permissions().client_removed(&gone.id).await
}

fn minted(state: &AppState, entry: &ClientEntry, token: &Secret) -> Result<MintedClient, UserError> {
    let client = state
        .clients
        .list()
        .into_iter()
        .find(|view| view.id == entry.id)
        .ok_or_else(|| UserError::new(ErrorCode::NotFound, message!("error.app.clientRevoked")))?;
    Ok(MintedClient { client, token: RequestSecret::new(token), endpoint: state.endpoint.clone() })
}

/// Finds a client by id or name.
pub(super) fn find(state: &AppState, wanted: &str) -> Result<ClientId, UserError> {
    state.clients.get(wanted).map(|client| client.id.clone()).ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.app.noClient", name = wanted))
            .with_hint(message!("error.app.noClientHint"))
    })
}
