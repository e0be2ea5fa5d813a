//! Finds the server that a command names, by its id or its name.

use std::sync::Arc;

use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};

use super::AppState;

/// Finds a server by id or name.
pub(super) fn find_config<'a>(
    configs: &'a [ServerConfig],
    wanted: &str,
) -> Result<&'a ServerConfig, UserError> {
    let by_id = configs.iter().find(|config| config.id.as_str() == wanted);
    let exact = by_id.or_else(|| configs.iter().find(|config| config.name == wanted));
    let found =
        exact.or_else(|| configs.iter().find(|config| config.name.to_lowercase() == wanted.to_lowercase()));
    found.ok_or_else(|| server_not_found(wanted))
}

/// Finds a loaded server by id or name.
pub(super) fn find(state: &AppState, wanted: &str) -> Result<Arc<ServerConfig>, UserError> {
    let all = state.servers.list();
    let configs: Vec<_> = all.iter().map(|snapshot| (*snapshot.config).clone()).collect();
    find_config(&configs, wanted).map(|config| Arc::new(config.clone()))
}

pub(super) fn server_not_found(wanted: &str) -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.app.noServer", name = wanted))
        .with_hint(message!("error.app.noServerHint"))
}
