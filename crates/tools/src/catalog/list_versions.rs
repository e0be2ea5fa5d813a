//! Versions of the lists that clients get, by which readers notice changes. No list is here.

use std::collections::HashMap;

use gatehouse_model::ServerId;

use super::server_selection::ServerSelection;

/// A number for each kind of list; it changes whenever the list for clients changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatalogVersions {
    pub tools: u64,
    /// Resources and their templates.
    pub resources: u64,
    pub prompts: u64,
    /// Changes whenever servers connect or are lost, whose definitions are marked as last known. The lists are
    /// the same then. Zero for one server by itself, whose definitions have no marks.
    pub marks: u64,
}

/// The versions of the lists of all servers together, and of each server's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListVersions {
    pub all: CatalogVersions,
    pub by_server: HashMap<ServerId, CatalogVersions>,
}

impl ListVersions {
    /// The versions of the lists of these servers. Those of a server without lists are zero, which no list has.
    #[must_use]
    pub fn of(&self, servers: &ServerSelection) -> CatalogVersions {
        match servers {
            ServerSelection::All => self.all,
            ServerSelection::One(server) => self.by_server.get(server).copied().unwrap_or_default(),
        }
    }
}
