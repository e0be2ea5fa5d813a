//! The lists that clients read (tools, resources, templates, prompts), for each endpoint built once per version of
//! the catalog for clients that see the same of it.

use std::sync::Arc;

use gatehouse_models::adapters::{AdaptedTools, ToolFormat};
use gatehouse_tools::{CatalogList, CatalogVersions, CatalogViewKey, ListVersions, ServerSelection, Viewer};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::protocol::adapted_tools::{AdaptedToolList, AdaptedToolLists, TaggedBody};
use crate::protocol::pagination::{ListSource, PaginatedList, PaginatedListCache};
use crate::protocol::tool_list::{ToolListCache, ToolListPages};
use crate::tool_service::ToolService;

/// The current lists of all endpoints.
pub(crate) struct CatalogLists {
    tool_service: Arc<dyn ToolService>,
    versions: watch::Receiver<ListVersions>,
    /// The lists of the endpoints that were used. At most one for each server that there is and one for all, for each
    /// set of profiles that a client has used and for clients without.
    caches: Mutex<Vec<Arc<ListCaches>>>,
}

/// The lists of one endpoint, for clients that see the same.
struct ListCaches {
    servers: ServerSelection,
    view: CatalogViewKey,
    tools: ToolListCache,
    adapted_tools: AdaptedToolLists,
    resources: PaginatedListCache,
    templates: PaginatedListCache,
    prompts: PaginatedListCache,
}

/// The current lists of one endpoint as one viewer sees them.
pub(crate) struct EndpointLists {
    viewer: Viewer,
    tool_service: Arc<dyn ToolService>,
    versions: CatalogVersions,
    caches: Arc<ListCaches>,
}

impl CatalogLists {
    pub(crate) fn new(tool_service: Arc<dyn ToolService>) -> Self {
        Self { versions: tool_service.catalog_versions(), tool_service, caches: Mutex::default() }
    }

    /// Watches the versions of the lists.
    pub(crate) fn versions(&self) -> watch::Receiver<ListVersions> {
        self.versions.clone()
    }

    /// The lists of one endpoint as a viewer sees them now.
    pub(crate) fn of(&self, viewer: &Viewer, servers: &ServerSelection) -> EndpointLists {
        let versions = self.versions.borrow().of(servers);
        // The key is read before any list, so if a list is already newer than its key, the worst that happens is that
        // it is built twice.
        let caches = self.caches(self.tool_service.view_key(viewer), servers);
        EndpointLists {
            viewer: viewer.clone(),
            tool_service: Arc::clone(&self.tool_service),
            versions,
            caches,
        }
    }

    /// The caches for a view. Those of an earlier state of it, and of servers that are gone, are dropped.
    fn caches(&self, view: CatalogViewKey, servers: &ServerSelection) -> Arc<ListCaches> {
        let mut caches = self.caches.lock();
        if let Some(known) = caches.iter().find(|known| known.servers == *servers && known.view == view) {
            return Arc::clone(known);
        }
        {
            let versions = self.versions.borrow();
            caches.retain(|known| {
                let is_there = match &known.servers {
                    ServerSelection::All => true,
                    ServerSelection::One(server) => versions.by_server.contains_key(server),
                };
                is_there && (known.view == view || !known.view.is_same_view(&view))
            });
        }
        let new = Arc::new(ListCaches {
            servers: servers.clone(),
            view,
            tools: ToolListCache::default(),
            adapted_tools: AdaptedToolLists::default(),
            resources: PaginatedListCache::new(CatalogList::Resources),
            templates: PaginatedListCache::new(CatalogList::Templates),
            prompts: PaginatedListCache::new(CatalogList::Prompts),
        });
        caches.push(Arc::clone(&new));
        new
    }
}

impl EndpointLists {
    /// The version of a list with its marks: both counters only rise, so each change of either is another sum.
    fn version(&self, of: impl Fn(CatalogVersions) -> u64) -> u64 {
        of(self.versions).wrapping_add(self.versions.marks)
    }

    fn source(&self) -> ListSource<'_> {
        ListSource { tool_service: &*self.tool_service, viewer: &self.viewer, servers: &self.caches.servers }
    }

    pub(crate) fn tools(&self) -> Arc<ToolListPages> {
        self.caches.tools.current(self.source(), self.version(|versions| versions.tools))
    }

    /// The tools in the format of a model provider. `write` makes the body of a new list.
    pub(crate) fn adapted_tools(
        &self,
        format: ToolFormat,
        write: &dyn Fn(&AdaptedTools) -> TaggedBody,
    ) -> Arc<AdaptedToolList> {
        let version = self.version(|versions| versions.tools);
        self.caches.adapted_tools.current(self.source(), version, format, write)
    }

    /// A tool of such a list as clients of MCP list it; `None` if it isn't listed.
    pub(crate) fn listed_tool(&self, list: &AdaptedToolList, exposed: &str) -> Option<Box<RawValue>> {
        list.listed_tool(self.source(), exposed)
    }

    pub(crate) fn resources(&self) -> Arc<PaginatedList> {
        self.caches.resources.current(self.source(), self.version(|versions| versions.resources))
    }

    pub(crate) fn templates(&self) -> Arc<PaginatedList> {
        self.caches.templates.current(self.source(), self.version(|versions| versions.resources))
    }

    pub(crate) fn prompts(&self) -> Arc<PaginatedList> {
        self.caches.prompts.current(self.source(), self.version(|versions| versions.prompts))
    }
}
