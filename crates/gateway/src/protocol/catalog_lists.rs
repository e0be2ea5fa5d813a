//! The lists that clients read (tools, resources, templates, prompts), each built once per version of the catalog.

use std::sync::Arc;

use gatehouse_tools::{CatalogList, CatalogVersions};
use tokio::sync::watch;

use crate::protocol::pagination::{PaginatedList, PaginatedListCache};
use crate::protocol::tool_list::{ToolListCache, ToolListPages};
use crate::tool_service::ToolService;

/// The current lists.
pub(crate) struct CatalogLists {
    tool_service: Arc<dyn ToolService>,
    versions: watch::Receiver<CatalogVersions>,
    tools: ToolListCache,
    resources: PaginatedListCache,
    templates: PaginatedListCache,
    prompts: PaginatedListCache,
}

impl CatalogLists {
    pub(crate) fn new(tool_service: Arc<dyn ToolService>) -> Self {
        Self {
            versions: tool_service.catalog_versions(),
            tool_service,
            tools: ToolListCache::default(),
            resources: PaginatedListCache::new(CatalogList::Resources),
            templates: PaginatedListCache::new(CatalogList::Templates),
            prompts: PaginatedListCache::new(CatalogList::Prompts),
        }
    }

    /// Watches the versions of the lists.
    pub(crate) fn versions(&self) -> watch::Receiver<CatalogVersions> {
        self.versions.clone()
    }

    pub(crate) fn tools(&self) -> Arc<ToolListPages> {
        let version = self.versions.borrow().tools;
        self.tools.current(&*self.tool_service, version)
    }

    pub(crate) fn resources(&self) -> Arc<PaginatedList> {
        let version = self.versions.borrow().resources;
        self.resources.current(&*self.tool_service, version)
    }

    pub(crate) fn templates(&self) -> Arc<PaginatedList> {
        let version = self.versions.borrow().resources;
        self.templates.current(&*self.tool_service, version)
    }

    pub(crate) fn prompts(&self) -> Arc<PaginatedList> {
        let version = self.versions.borrow().prompts;
        self.prompts.current(&*self.tool_service, version)
    }
}
