//! Keeps removals for as long as they can be undone, and completes them: what is still stored of their servers is deleted.

use std::sync::Arc;

use gatehouse_model::ServerConfig;
use gatehouse_model::command::Removal;

use crate::removals::{RemovedItem, RemovedServer, UNDO_TIME};
use crate::server_configs::apply::forget_stored;
use crate::server_configs::bundles;
use crate::state::AppState;

/// Keeps a removal for a while, so that it can be undone; `None` if it is final.
pub(crate) async fn keep(state: &Arc<AppState>, item: RemovedItem) -> Option<Removal> {
    let id = match state.removals.add(item) {
        Ok(id) => id,
        Err(item) => {
            complete(state, item.servers()).await;
            return None;
        }
    };
    let (state_then, ends) = (Arc::downgrade(state), id.clone());
    state.removals.when_due(async move {
        let Some(state) = state_then.upgrade() else { return };
        // Held until everything is deleted: an undo that began before has ended, and none begins.
        let configs = state.configs.lock().await;
        if let Ok((_, item)) = state.removals.take(Some(&ends)) {
            forget_servers(&state, &configs, item.servers()).await;
        }
    });
    Some(Removal { id, seconds: u32::try_from(UNDO_TIME.as_secs()).unwrap_or(u32::MAX) })
}

/// Deletes what is still stored of servers whose removal is final. Takes the lock of the servers.
pub(crate) async fn complete(state: &AppState, servers: &[RemovedServer]) {
    let configs = state.configs.lock().await;
    forget_servers(state, &configs, servers).await;
}

/// The same with the lock of the servers held, which are `configs`.
async fn forget_servers(state: &AppState, configs: &[ServerConfig], servers: &[RemovedServer]) {
    if servers.is_empty() {
        return;
    }
    for RemovedServer { config, .. } in servers {
        // It can be back by a hand edit that the user accepted.
        if !configs.iter().any(|known| known.id == config.id) {
            forget_stored(state, config).await;
        }
    }
    let gone: Vec<ServerConfig> = servers.iter().map(|removed| removed.config.clone()).collect();
    bundles::sweep(state, configs, &gone).await;
}
