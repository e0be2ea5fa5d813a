//! Undoing removals: what was removed comes back as it was, with its id, its secrets and the permissions that are still
//! bound to it. A server is at its old position in the list, with its known tools, and runs if it ran.

use std::sync::Arc;

use gatehouse_model::UserError;
use gatehouse_model::command::RemovalsUndo;
use gatehouse_tools::{RemovedPermissions, is_chat};

use super::approvals::answered_by;
use super::servers::{self, Configs};
use super::{AppState, server_draft};
use crate::removals::{RemovedItem, RemovedServer};

pub(super) async fn undo(state: &Arc<AppState>, wanted: &RemovalsUndo) -> Result<(), UserError> {
    let mut configs = state.configs.lock().await;
    let (id, item) = state.removals.take(wanted.removal.as_ref())?;
    let undone = restore(state, &mut configs, &item).await;
    if undone.is_err() {
        state.removals.put_back(id, item);
    }
    undone
}

async fn restore(
    state: &Arc<AppState>,
    configs: &mut Configs<'_>,
    item: &RemovedItem,
) -> Result<(), UserError> {
    match item {
        RemovedItem::Server(removed) => restore_server(state, configs, removed).await,
        RemovedItem::Profile(removed) => {
            // The profile comes first, so that nobody outside of its projects ever sees their servers.
            let is_there = state.tools.profiles().get(removed.profile.id.as_str()).is_ok();
            if !is_there {
                state.tools.restore_profile(removed.profile.clone(), removed.entries.clone()).await?;
            }
            // The last one first, so that each finds its position as it left it.
            for server in removed.servers.iter().rev() {
                restore_server(state, configs, server).await?;
            }
            Ok(())
        }
        RemovedItem::Rule(permissions) => restore_permissions(state, permissions).await,
    }
}

async fn restore_server(
    state: &Arc<AppState>,
    configs: &mut Configs<'_>,
    removed: &RemovedServer,
) -> Result<(), UserError> {
    let config = &removed.config;
    if !configs.iter().any(|known| known.id == config.id) {
        server_draft::check_name(&config.name, None, configs)?;
        servers::check_admin_policy(state, config).await?;
        servers::restore(state, configs, removed).await?;
    }
    // The catalog knows the server again before its permissions are bound to it; until then its calls ask.
    state.tools.refresh().await;
    restore_permissions(state, &removed.permissions).await
}

async fn restore_permissions(state: &AppState, removed: &RemovedPermissions) -> Result<(), UserError> {
    let mut permissions = removed.clone();
    permissions.retain_clients(|client| is_chat(client) || state.clients.get(client.as_str()).is_some());
    state.tools.permissions().restore(permissions, answered_by(state.owner)).await
}
