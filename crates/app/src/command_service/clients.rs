//! Clients and their tokens. A token is contained in the reply that creates it and nowhere else.

use std::sync::Arc;

use gatehouse_model::command::{ClientsSet, MintedClient, RequestSecret};
use gatehouse_model::{ClientEntry, ClientId, ClientView, ErrorCode, Secret, UserError, message};

use super::{AppState, stored_connections};
use crate::bridge_keychain;

pub(super) async fn list(state: &Arc<AppState>) -> Result<Vec<ClientView>, UserError> {
    state.tools.refresh().await;
    let assigned = state.tools.profiles().stored().assigned;
    let with_profile = |view: ClientView| ClientView {
        profile: assigned.get(&view.id).cloned(),
        tool_list: state.tools.client_cost(&view.id),
        ..view
    };
    Ok(state.clients.list().into_iter().map(with_profile).collect())
}

/// The client that a token belongs to.
pub(super) async fn identify(state: &Arc<AppState>, token: &str) -> Result<ClientView, UserError> {
    let client = with_token(state, token)?;
    view_of(state, &client.id).await
}

/// The entry of the client that a token belongs to.
pub(super) fn with_token(state: &AppState, token: &str) -> Result<Arc<ClientEntry>, UserError> {
    state.clients.authenticate(token).ok_or_else(|| {
        UserError::new(ErrorCode::NotPermitted, message!("error.app.unknownToken"))
            .with_hint(message!("error.app.addClientHint"))
    })
}

/// Gives a client a profile, or takes its profile away.
pub(super) async fn set(state: &Arc<AppState>, wanted: ClientsSet) -> Result<ClientView, UserError> {
    let client = find_entry(state, &wanted.client)?;
    state.tools.assign_profile(&client, wanted.profile.as_deref()).await?;
    view_of(state, &client.id).await
}

pub(super) async fn add(state: &Arc<AppState>, name: &str) -> Result<MintedClient, UserError> {
    let (entry, token) = state.clients.add(name).await?;
    state.tools.permissions().client_added(&entry);
    minted(state, &entry, &token, false).await
}

pub(super) async fn rotate(state: &Arc<AppState>, client: &str) -> Result<MintedClient, UserError> {
    let (entry, token) = state.clients.rotate(client).await?;
    // The settings of a connected application have no token: its bridge takes it from the keychain.
    let is_connected = stored_connections::has_client(state, &entry.id).await;
    if is_connected {
        bridge_keychain::keep(&state.data_dir, &entry.name, &token).await?;
    }
    minted(state, &entry, &token, is_connected).await
}

pub(super) async fn revoke(state: &Arc<AppState>, client: &str) -> Result<(), UserError> {
    let gone = state.clients.revoke(client).await?;
    let forgotten = state.tools.permissions().client_removed(&gone.id).await;
    bridge_keychain::forget(&state.data_dir, &gone.name).await;
    forgotten
}

/// Stores a token in the keychain, under the name of the client that it belongs to.
pub(super) async fn keep_token(state: &Arc<AppState>, token: &str) -> Result<(), UserError> {
    let client = with_token(state, token)?;
    bridge_keychain::keep(&state.data_dir, &client.name, &Secret::new(token)).await
}

async fn view_of(state: &Arc<AppState>, client: &ClientId) -> Result<ClientView, UserError> {
    let all = list(state).await?;
    all.into_iter()
        .find(|view| view.id == *client)
        .ok_or_else(|| UserError::new(ErrorCode::NotFound, message!("error.app.clientRevoked")))
}

async fn minted(
    state: &Arc<AppState>,
    entry: &ClientEntry,
    token: &Secret,
    is_kept: bool,
) -> Result<MintedClient, UserError> {
    let client = view_of(state, &entry.id).await?;
    Ok(MintedClient {
        client,
        token: RequestSecret::new(token),
        is_kept,
        endpoint: state.endpoint.clone(),
        server_endpoint: state.server_endpoint.clone(),
        sse_endpoint: state.sse_endpoint.clone(),
    })
}

/// Finds a client by id or name.
pub(super) fn find(state: &AppState, wanted: &str) -> Result<ClientId, UserError> {
    find_entry(state, wanted).map(|client| client.id.clone())
}

pub(super) fn find_entry(state: &AppState, wanted: &str) -> Result<Arc<ClientEntry>, UserError> {
    state.clients.get(wanted).ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.app.noClient", name = wanted))
            .with_hint(message!("error.app.noClientHint"))
    })
}
