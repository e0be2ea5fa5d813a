//! `servers.json`.

use std::path::Path;

use gatehouse_model::ask::ConfigChangeAsk;
use gatehouse_model::{Problem, ServerConfig};

use crate::error::StoreError;
use crate::sealed::Sealed;

/// `servers.json` with the confirmed copy that runs.
pub struct ServersFile;

/// What `servers.json` and its confirmed copy say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedServers {
    /// What runs.
    pub servers: Vec<ServerConfig>,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
    /// Edits that wait for a person.
    pub unconfirmed: Vec<HandEdit>,
}

/// One edit by hand that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct HandEdit {
    /// What the person is asked.
    pub ask: ConfigChangeAsk,
    /// The server as it runs.
    pub before: Option<ServerConfig>,
    /// The server as the file has it.
    pub after: Option<ServerConfig>,
}

/// Watches until it is dropped.
pub struct WatchGuard;

impl ServersFile {
    pub(crate) fn open(_dir: &Path, _confirmed: Sealed<Vec<ServerConfig>>) -> Result<Self, StoreError> {
        Ok(Self)
    }

    /// Reads the file and its confirmed copy.
    pub fn load(&self) -> LoadedServers {
        LoadedServers::default()
    }

    /// Writes and confirms.
    ///
    /// # Errors
    /// When the file may not be written.
    pub fn save(&self, _servers: &[ServerConfig]) -> Result<(), StoreError> {
        Ok(())
    }

    /// Settles a hand edit.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn confirm(&self, _edit: &HandEdit, _accept: bool) -> Result<LoadedServers, StoreError> {
        Ok(LoadedServers::default())
    }

    /// Calls back when the file was edited.
    ///
    /// # Errors
    /// When the folder cannot be watched.
    pub fn watch(&self, _on_change: Box<dyn Fn() + Send + Sync>) -> Result<WatchGuard, StoreError> {
        Ok(WatchGuard)
    }
}

/// Checks a server's name.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_server_name(_name: &str) -> Result<(), Problem> {
    Ok(())
}
