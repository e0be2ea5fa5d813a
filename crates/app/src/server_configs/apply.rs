//! Puts a changed list of servers into effect.

use gatehouse_model::{ServerConfig, UserError};

use super::{bundles, secrets};
use crate::state::AppState;

/// Applies servers that were read from the file, after a person confirmed them.
pub(crate) async fn apply_configs(
    state: &AppState,
    configs: &mut Vec<ServerConfig>,
    wanted: Vec<ServerConfig>,
) -> Result<(), UserError> {
    let before = std::mem::replace(configs, wanted.clone());
    for gone in before.iter().filter(|old| !wanted.iter().any(|new| new.id == old.id)) {
        remove_with_permissions(state, gone).await?;
    }
    for config in wanted {
        let old = before.iter().find(|old| old.id == config.id);
        if old == Some(&config) {
            continue;
        }
        if let Some(old) = old.filter(|old| old.generation != config.generation) {
            state.sign_ins.forget(old).await;
            match secrets::SecretChanges::new(Some(old), &config, &[]) {
                Ok(secret_changes) => {
                    secret_changes.store(state).await?;
                    secret_changes.forget_old(state).await;
                }
                // The server reports the missing secret itself when it connects.
                Err(_) => secrets::forget(state, old).await,
            }
        }
        state.servers.put(config).await?;
    }
    bundles::sweep(state, configs, &before).await;
    Ok(())
}

/// Removes a server with its permissions, secrets and sign-in.
pub(crate) async fn remove_with_permissions(state: &AppState, gone: &ServerConfig) -> Result<(), UserError> {
    state.servers.remove(&gone.id).await;
    forget_stored(state, gone).await;
    state.tools.permissions().server_removed(&gone.id).await
}

/// Deletes the secrets and the sign-in of a server that was removed.
pub(crate) async fn forget_stored(state: &AppState, gone: &ServerConfig) {
    secrets::forget(state, gone).await;
    state.sign_ins.forget(gone).await;
}
