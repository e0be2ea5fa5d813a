//! `tools/list`: the pages, and the tools' parameters that must be repeated in MCP headers.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use gatehouse_mcp_wire::headers::ParamHeader;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::{CacheHints, CatalogList};
use serde_json::value::RawValue;

use crate::protocol::pagination::{ListSource, PaginatedList};
use crate::protocol::rpc_error::HttpRpcError;
use crate::revision::Revision;

/// The list of one version of the catalog, ready to be sent.
#[derive(Debug)]
pub(crate) struct ToolListPages {
    version: u64,
    pages: PaginatedList,
    /// The same for clients with tasks, if it differs.
    task_pages: Option<PaginatedList>,
    headers: HashMap<String, Vec<ParamHeader>>,
}

/// Caches the list of the current catalog.
#[derive(Debug, Default)]
pub(crate) struct ToolListCache {
    ready: ArcSwapOption<ToolListPages>,
}

impl ToolListCache {
    /// The current list. `version` is the version of the catalog that the caller read.
    pub(crate) fn current(&self, source: ListSource<'_>, version: u64) -> Arc<ToolListPages> {
        if let Some(ready) = self.ready.load_full()
            && ready.version == version
        {
            return ready;
        }
        // The version is read before the list, so if the list is already newer than its version, the worst
        // that happens is that it is built twice.
        let caching = source.caching(CatalogList::Tools);
        let mut built = None;
        source.with_list(CatalogList::Tools, &mut |tools| {
            built = Some(ToolListPages::build(version, caching.clone(), tools));
        });
        let mut built = built.unwrap_or_else(|| ToolListPages::build(version, caching.clone(), &[]));
        source.tool_service.with_task_tools(source.viewer, source.servers, &mut |tools| {
            let pages = PaginatedList::build(CatalogList::Tools, version, caching.clone(), tools);
            built.task_pages = (pages != built.pages).then_some(pages);
        });
        let built = Arc::new(built);
        self.ready.store(Some(Arc::clone(&built)));
        built
    }
}

impl ToolListPages {
    fn build(version: u64, caching: CacheHints, tools: &[&RawValue]) -> Self {
        let mut list = Self {
            version,
            pages: PaginatedList::build(CatalogList::Tools, version, caching, tools),
            task_pages: None,
            headers: HashMap::new(),
        };
        for tool in tools {
            // Tools with invalid header annotations aren't in the catalog.
            let headers = ParamHeader::of_tool(tool).unwrap_or_default();
            if !headers.is_empty()
                && let Some(name) = Members::of(tool).ok().and_then(|members| members.text("name"))
            {
                list.headers.insert(name.into_owned(), headers);
            }
        }
        list
    }

    /// The result for the page that `params` asks for.
    pub(crate) fn page(&self, params: &Members<'_>, revision: Revision) -> Result<Bytes, HttpRpcError> {
        let pages = self.task_pages.as_ref().filter(|_| revision.has_tasks()).unwrap_or(&self.pages);
        pages.page(params, revision)
    }

    /// The parameters of a tool that must be repeated in headers.
    pub(crate) fn headers_of(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}
