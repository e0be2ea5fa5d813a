//! Clients and their tokens. A token is contained in the reply that creates it and nowhere else.

use std::sync::Arc;

use gatehouse_model::command::{MintedClient, RequestSecret};
use gatehouse_model::{ClientEntry, ClientId, ClientView, ErrorCode, Problem, Secret};

use super::Parts;

pub(super) async fn list(parts: &Arc<Parts>) -> Result<Vec<ClientView>, Problem> {
    Ok(parts.clients.list())
}

pub(super) async fn add(parts: &Arc<Parts>, name: &str) -> Result<MintedClient, Problem> {
    let (entry, token) = parts.clients.add(name).await?;
    parts.tools.rights().client_added(&entry);
    minted(parts, &entry, &token)
}

pub(super) async fn rotate(parts: &Arc<Parts>, client: &str) -> Result<MintedClient, Problem> {
    let (entry, token) = parts.clients.rotate(client).await?;
    minted(parts, &entry, &token)
}

pub(super) async fn revoke(parts: &Arc<Parts>, client: &str) -> Result<(), Problem> {
    let gone = parts.clients.revoke(client).await?;
    parts.tools.rights().client_removed(&gone.id).await
}

fn minted(parts: &Parts, entry: &ClientEntry, token: &Secret) -> Result<MintedClient, Problem> {
    let client = parts
        .clients
        .list()
        .into_iter()
        .find(|view| view.id == entry.id)
        .ok_or_else(|| Problem::new(ErrorCode::NotFound, "The client was revoked meanwhile."))?;
    Ok(MintedClient { client, token: RequestSecret::new(token), endpoint: parts.endpoint.clone() })
}

/// Finds a client by id or name.
pub(super) fn find(parts: &Parts, wanted: &str) -> Result<ClientId, Problem> {
    parts.clients.get(wanted).map(|client| client.id.clone()).ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("There is no client “{wanted}”."))
            .todo("`gatehousectl clients list` shows all clients.")
    })
}
