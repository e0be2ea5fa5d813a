//! The catalog as one client sees it: an immutable value over one state of the catalog, the profile and the permissions.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::ServerId;
use gatehouse_model::profile::ToolListCost;
use gatehouse_servers::{CacheHints, ListKind};
use serde_json::value::RawValue;

use super::meta_tools::{self, MetaTool};
use crate::catalog::catalog_tool::CatalogTool;
use crate::catalog::resource_catalog::{CatalogList, ResolvedTarget};
use crate::catalog::selected_catalog::{SelectedCatalog, ServerDescription};
use crate::catalog::server_selection::ServerSelection;
use crate::catalog::tool_catalog::ToolCatalog;
use crate::profiles::effective_profile::EffectiveProfile;

/// Names of tools by server.
pub(crate) type ToolSet = HashMap<ServerId, HashSet<Box<str>>>;

/// What one client sees of the catalog.
#[derive(Clone)]
pub struct ClientCatalog {
    pub(super) catalog: Arc<ToolCatalog>,
    pub(super) profile: EffectiveProfile,
    /// Tools that aren't listed because they are denied.
    pub(super) denied: Arc<ToolSet>,
}

impl fmt::Debug for ClientCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCatalog").field("profile", &self.profile).finish_non_exhaustive()
    }
}

impl ClientCatalog {
    /// The whole catalog under this client's names.
    fn named(&self) -> &ToolCatalog {
        self.catalog.named(self.profile.naming())
    }

    /// Whether the client sees the server, with its resources and prompts.
    #[must_use]
    pub fn sees_server(&self, server: &ServerId) -> bool {
        self.profile.hiding_server(server).is_none()
    }

    fn sees_tool(&self, tool: &CatalogTool) -> bool {
        let is_shown = self.profile.hiding_tool(tool.server(), tool.name()).is_none();
        let is_denied = self.denied.get(tool.server()).is_some_and(|tools| tools.contains(tool.name()));
        is_shown && !is_denied
    }

    fn is_search(&self) -> bool {
        self.profile.is_search()
    }

    /// The tool of Gatehouse's own with this name, in search mode.
    pub(crate) fn meta_tool(&self, name: &str) -> Option<MetaTool> {
        if self.is_search() { MetaTool::named(name) } else { None }
    }

    /// The tool with this exposed name, if the client sees it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&CatalogTool> {
        self.named().by_exposed(name).filter(|tool| self.sees_tool(tool))
    }

    /// The title of a tool of Gatehouse's own, in search mode.
    #[must_use]
    pub fn search_tool_title(&self, name: &str) -> Option<&'static str> {
        self.meta_tool(name).map(MetaTool::title)
    }

    /// The tool that a call is for, with the arguments for it. That of a call through `call_tool` is the one that it names;
    /// calls that only search tools are for none.
    #[must_use]
    pub fn called_tool<'a>(
        &'a self,
        name: &str,
        arguments: &'a RawValue,
    ) -> Option<(&'a CatalogTool, Cow<'a, RawValue>)> {
        let Some(meta_tool) = self.meta_tool(name) else {
            return Some((self.tool(name)?, Cow::Borrowed(arguments)));
        };
        let (name, arguments) = meta_tools::called(meta_tool, arguments)?;
        let arguments = arguments.unwrap_or_else(|| raw("{}".to_owned()));
        Some((self.tool(&name)?, Cow::Owned(arguments)))
    }

    /// Passes one of the client's lists of an endpoint to `read`, each item as raw JSON, for clients without tasks. One
    /// server by itself is listed in full, without search.
    pub fn with_list(&self, servers: &ServerSelection, of: CatalogList, read: &mut dyn FnMut(&[&RawValue])) {
        match servers {
            _ if of == CatalogList::Tools => self.with_tools(servers, CatalogTool::without_tasks, read),
            ServerSelection::All => {
                let sees_server = |server: &ServerId| self.sees_server(server);
                read(&self.named().resources().visible_items(of, &sees_server));
            }
            ServerSelection::One(server) if !self.sees_server(server) => read(&[]),
            ServerSelection::One(_) => {
                let items = SelectedCatalog::new(&self.catalog, servers).list(of);
                read(&items.iter().map(|item| &**item).collect::<Vec<_>>());
            }
        }
    }

    /// What each server of an endpoint that the client sees says about caching one of its lists.
    #[must_use]
    pub fn cache_hints(&self, servers: &ServerSelection, of: CatalogList) -> Vec<Option<CacheHints>> {
        let kind = match of {
            CatalogList::Tools => ListKind::Tools,
            CatalogList::Resources => ListKind::Resources,
            CatalogList::Templates => ListKind::ResourceTemplates,
            CatalogList::Prompts => ListKind::Prompts,
        };
        let is_listed = |server: &ServerId| match servers {
            ServerSelection::All => self.sees_server(server),
            ServerSelection::One(one) => one == server && self.sees_server(server),
        };
        let listed = self.catalog.listed().filter(|(server, ..)| is_listed(server));
        listed.map(|(.., lists)| lists.caching.get(&kind).cloned()).collect()
    }

    /// Passes the list of tools to `read` as [`Self::with_list`] does, for clients that have tasks.
    pub fn with_task_tools(&self, servers: &ServerSelection, read: &mut dyn FnMut(&[&RawValue])) {
        self.with_tools(servers, |tool, listed| Some(tool.with_tasks(listed)), read);
    }

    /// Passes the tools of an endpoint to `read`, each as `listed` has it.
    fn with_tools(
        &self,
        servers: &ServerSelection,
        listed: impl for<'a> Fn(&CatalogTool, Cow<'a, RawValue>) -> Option<Cow<'a, RawValue>>,
        read: &mut dyn FnMut(&[&RawValue]),
    ) {
        let mut items: Vec<Cow<'_, RawValue>> = Vec::new();
        match servers {
            ServerSelection::One(server) if !self.sees_server(server) => {}
            ServerSelection::One(server) => {
                let own = self.catalog.of_server(server).filter(|tool| self.sees_tool(tool));
                items.extend(own.filter_map(|tool| listed(tool, Cow::Borrowed(tool.definition()))));
            }
            ServerSelection::All => {
                let always = |tool: &CatalogTool| {
                    tool.definition.hints.always_load && MetaTool::named(tool.exposed_name()).is_none()
                };
                let is_search = self.is_search();
                if is_search {
                    let meta_tools = meta_tools::definitions(self.visible_tools().map(|(_, tool)| tool));
                    items.extend(meta_tools.into_iter().map(Cow::Owned));
                }
                let shown = self.visible_tools().filter(|(_, tool)| !is_search || always(tool));
                items.extend(
                    shown.filter_map(|(at, tool)| listed(tool, Cow::Borrowed(self.named().listed_tool(at)?))),
                );
            }
        }
        read(&items.iter().map(|item| &**item).collect::<Vec<_>>());
    }

    /// The tools that the client sees, with their places in the catalog.
    pub(crate) fn visible_tools(&self) -> impl Iterator<Item = (usize, &CatalogTool)> {
        self.named().tools().iter().enumerate().filter(|(_, tool)| self.sees_tool(tool))
    }

    /// The tool at a place in the catalog, if the client sees it.
    pub(crate) fn visible_tool(&self, at: usize) -> Option<&CatalogTool> {
        self.named().tools().get(at).filter(|tool| self.sees_tool(tool))
    }

    /// The definition of a tool as this client sees it, if it does. In search mode no tool runs as a task.
    pub(crate) fn definition(&self, name: &str) -> Option<Cow<'_, RawValue>> {
        let at = self.named().place(name)?;
        self.visible_tool(at)?.without_tasks(Cow::Borrowed(self.named().listed_tool(at)?))
    }

    /// The catalog of an endpoint for one server, if the client sees that server.
    fn own<'a>(&'a self, server: &ServerId, servers: &'a ServerSelection) -> Option<SelectedCatalog<'a>> {
        self.sees_server(server).then(|| SelectedCatalog::new(&self.catalog, servers))
    }

    /// The server of a resource.
    #[must_use]
    pub fn resource(&self, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        match servers {
            ServerSelection::All => self.named().resource(uri, &|server| self.sees_server(server)),
            ServerSelection::One(server) => self.own(server, servers)?.resource(uri),
        }
    }

    /// The server of a resource template or of a resource, for completing arguments.
    #[must_use]
    pub fn template(&self, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        match servers {
            ServerSelection::All => self.named().template(uri, &|server| self.sees_server(server)),
            ServerSelection::One(server) => self.own(server, servers)?.template(uri),
        }
    }

    /// The server of a prompt, by the name that clients of the endpoint use.
    #[must_use]
    pub fn prompt(&self, servers: &ServerSelection, name: &str) -> Option<ResolvedTarget> {
        match servers {
            ServerSelection::All => self.named().prompt(name, &|server| self.sees_server(server)),
            ServerSelection::One(server) => self.own(server, servers)?.prompt(name),
        }
    }

    /// How the servers of an endpoint describe themselves.
    #[must_use]
    pub fn descriptions(&self, servers: &ServerSelection) -> Vec<ServerDescription> {
        let mut all = SelectedCatalog::new(&self.catalog, servers).descriptions();
        all.retain(|described| self.sees_server(&described.server));
        all
    }

    /// What the client's list of tools costs a model.
    #[must_use]
    pub fn tool_list_cost(&self) -> ToolListCost {
        let mut cost = ToolListCost::default();
        let tools = self.visible_tools().count();
        self.with_list(&ServerSelection::All, CatalogList::Tools, &mut |items| {
            cost = ToolListCost::new(tools, items.iter().map(|item| item.get().len()));
        });
        cost
    }
}
