//! Loads the servers at the start. A new data folder gets the built-in servers that need no
//! configuration: time and notes. A folder that was ever used gets them again only by a reset.

use std::sync::Arc;

use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ErrorCode, ServerConfig, ServerId, Transport, UserError, message};
use gatehouse_store::{LoadedServers, SealError, Store};

const FILE: &str = "servers.json";

/// Whether a data folder has never been used. Must be called before anything is opened in it.
pub(crate) fn is_new(data_dir: &std::path::Path) -> bool {
    !data_dir.join(FILE).exists()
}

/// Loads the servers.
///
/// # Errors
/// If the secret store is locked, so that it is not known which servers there are: a list that is saved
/// later would replace them.
pub(crate) fn load_known(store: &Store) -> Result<LoadedServers, UserError> {
    let loaded = store.servers().load();
    match loaded.seal_error {
        Some(error @ SealError::Locked { .. }) => Err(error.into()),
        Some(_) | None => Ok(loaded),
    }
}

/// Loads the servers; writes the default ones into a new folder.
pub(crate) fn load(store: &Arc<Store>, new: bool) -> Result<LoadedServers, UserError> {
    let loaded = load_known(store)?;
    let untouched = loaded.servers.is_empty() && loaded.unconfirmed.is_empty() && loaded.problems.is_empty();
    if !(new && untouched) {
        return Ok(loaded);
    }
    let servers = servers()?;
    for server in &servers {
        let (id, name) = (server.id.clone(), server.name.clone());
        store.audit().append(AuditEvent::ServerChanged { server: id, name, what: "added".to_owned() })?;
    }
    store.servers().save(&servers)?;
    load_known(store)
}

/// The default servers.
pub(crate) fn servers() -> Result<Vec<ServerConfig>, UserError> {
    let first = [("Time", Builtin::Time), ("Notes", Builtin::Notes)];
    first.into_iter().map(|(name, builtin)| built_in(name, builtin)).collect()
}

fn built_in(name: &str, builtin: Builtin) -> Result<ServerConfig, UserError> {
    let bits = getrandom::u64().map_err(|e| {
        UserError::new(ErrorCode::Internal, message!("error.app.noId")).with_cause(format!("{e}."))
    })?;
    Ok(ServerConfig::new(ServerId::from_random(bits), name, Transport::Builtin { builtin }))
}
