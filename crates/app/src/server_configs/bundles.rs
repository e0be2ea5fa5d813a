//! Removes unpacked bundles that no server runs any more (UI-2).

use std::sync::Arc;

use gatehouse_integrations::BundleStore;
use gatehouse_model::ServerConfig;
use gatehouse_store::Store;

use crate::state::AppState;

/// Removes the bundles that were left by an earlier run. If the list of servers is not verified, it does not tell what is
/// in use, so nothing is removed then. Blocks.
pub(crate) fn sweep_at_start(store: &Store) {
    match store.servers().confirmed() {
        Ok(Some(servers)) => BundleStore::new(store.dir()).sweep(&servers, &[]),
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "bundles of servers that are no more are not looked for"),
    }
}

/// Removes the bundles that none of `servers` runs, which are all that there are, and no server whose removal can be
/// undone. `gone` are those that ran them until now. Call it with the lock of the servers held, so that none is added
/// meanwhile.
pub(crate) async fn sweep(state: &AppState, servers: &[ServerConfig], gone: &[ServerConfig]) {
    let (servers, gone) = ([servers, &state.removals.servers()].concat(), gone.to_vec());
    let bundles = Arc::clone(&state.bundles);
    if let Err(error) = tokio::task::spawn_blocking(move || bundles.sweep(&servers, &gone)).await {
        tracing::warn!(%error, "unused bundles could not be removed");
    }
}
