//! The catalog as one endpoint of the gateway serves it: all servers under names that are unique among them, or one
//! server exactly as it describes itself (GATE-1, TOOL-4). It decides nothing and changes no bytes.

use std::borrow::Cow;

use gatehouse_model::ServerId;
use gatehouse_policy::display::clean_text;
use serde_json::value::RawValue;

use super::resource_catalog::{CatalogList, ResolvedTarget};
use super::server_selection::ServerSelection;
use super::tool_catalog::ToolCatalog;

/// How a server describes itself in its handshake.
#[derive(Clone, Debug)]
pub struct ServerDescription {
    pub server: ServerId,
    /// The name that the user gave it.
    pub name: String,
    /// The declared capabilities as raw JSON; `{}` before the first connection.
    pub capabilities: Box<RawValue>,
    /// `serverInfo` as raw JSON, if the server sent it.
    pub server_info: Option<Box<RawValue>>,
    pub instructions: Option<String>,
    /// Whether the server runs calls as tasks of 2025-11-25.
    pub has_tasks: bool,
    /// Whether it has the extension for tasks.
    pub has_tasks_extension: bool,
}

/// The catalog of the selected servers.
#[derive(Clone, Copy, Debug)]
pub struct SelectedCatalog<'a> {
    catalog: &'a ToolCatalog,
    servers: &'a ServerSelection,
}

impl<'a> SelectedCatalog<'a> {
    #[must_use]
    pub fn new(catalog: &'a ToolCatalog, servers: &'a ServerSelection) -> Self {
        Self { catalog, servers }
    }

    /// One of the lists for clients, each item as raw JSON.
    #[must_use]
    pub fn list(&self, of: CatalogList) -> Cow<'a, [Box<RawValue>]> {
        match self.servers {
            ServerSelection::All => Cow::Borrowed(self.catalog.list(of)),
            ServerSelection::One(server) => Cow::Owned(match of {
                CatalogList::Tools => {
                    self.catalog.of_server(server).map(|tool| tool.definition().to_owned()).collect()
                }
                CatalogList::Resources | CatalogList::Templates | CatalogList::Prompts => {
                    self.catalog.resources().own_list(server, of)
                }
            }),
        }
    }

    /// The server of a resource. One server by itself decides which URIs it has.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<ResolvedTarget> {
        match self.servers {
            ServerSelection::All => self.catalog.resources().resource(uri, &|_| true),
            ServerSelection::One(server) => self.catalog.resources().on_server(server, uri),
        }
    }

    /// The server of a resource template or of a resource, for completing arguments.
    #[must_use]
    pub fn template(&self, uri: &str) -> Option<ResolvedTarget> {
        match self.servers {
            ServerSelection::All => self.catalog.resources().template(uri, &|_| true),
            ServerSelection::One(server) => self.catalog.resources().on_server(server, uri),
        }
    }

    /// The server of a prompt, by the name that clients of this endpoint use.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<ResolvedTarget> {
        match self.servers {
            ServerSelection::All => self.catalog.resources().prompt(name, &|_| true),
            ServerSelection::One(server) => self
                .catalog
                .resources()
                .on_server(server, name)
                .filter(|_| self.catalog.resources().own_prompts(server).any(|own| own == name)),
        }
    }

    /// How the servers describe themselves, in the order in which they were added.
    #[must_use]
    pub fn descriptions(&self) -> Vec<ServerDescription> {
        self.catalog
            .listed()
            .filter(|(server, ..)| match self.servers {
                ServerSelection::All => true,
                ServerSelection::One(one) => one == *server,
            })
            .map(|(server, name, lists)| ServerDescription {
                server: server.clone(),
                name: name.to_owned(),
                capabilities: lists.capabilities.clone(),
                server_info: lists.server_info.clone(),
                instructions: lists.instructions.as_deref().map(|instructions| match self.servers {
                    ServerSelection::All => clean_text(instructions).into_owned(),
                    ServerSelection::One(_) => instructions.to_owned(),
                }),
                has_tasks: lists.has_tasks(),
                has_tasks_extension: lists.has_tasks_extension(),
            })
            .collect()
    }
}
