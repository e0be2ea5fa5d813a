//! What is stored of connected applications.

use std::sync::Arc;

use gatehouse_model::connection::StoredConnections;
use gatehouse_model::{ClientId, UserError};

use super::AppState;

/// # Errors
/// When it can't be read or verified.
pub(super) async fn load(state: &Arc<AppState>) -> Result<StoredConnections, UserError> {
    state.with_store(|store| Ok(store.connections().load()?.unwrap_or_default())).await
}

/// Whether a client is that of a connected application.
pub(super) async fn has_client(state: &Arc<AppState>, client: &ClientId) -> bool {
    let is_its =
        |stored: StoredConnections| stored.apps.values().any(|connection| connection.client == *client);
    load(state).await.is_ok_and(is_its)
}
