//! `tools/list`: the pages, and the tools' parameters that must be repeated in MCP headers.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use gatehouse_mcp_wire::headers::ParamHeader;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::CatalogList;
use serde_json::value::RawValue;

use crate::protocol::pagination::PaginatedList;
use crate::protocol::rpc_error::HttpRpcError;
use crate::revision::Revision;
use crate::tool_service::ToolService;

/// The list of one version of the catalog, ready to be sent.
#[derive(Debug)]
pub(crate) struct ToolListPages {
    version: u64,
    pages: PaginatedList,
    headers: HashMap<String, Vec<ParamHeader>>,
}

/// Caches the list of the current catalog.
#[derive(Debug, Default)]
pub(crate) struct ToolListCache {
    ready: ArcSwapOption<ToolListPages>,
}

impl ToolListCache {
    /// The current list. `version` is the version of the catalog that the caller read.
    pub(crate) fn current(&self, tool_service: &dyn ToolService, version: u64) -> Arc<ToolListPages> {
        if let Some(ready) = self.ready.load_full()
            && ready.version == version
        {
            return ready;
        }
        // The version is read before the list, so if the list is already newer than its version, the worst
        // that happens is that it is built twice.
        let mut built = None;
        tool_service
            .with_list(CatalogList::Tools, &mut |tools| built = Some(ToolListPages::build(version, tools)));
        let built = Arc::new(built.unwrap_or_else(|| ToolListPages::build(version, &[])));
        self.ready.store(Some(Arc::clone(&built)));
        built
    }
}

impl ToolListPages {
    fn build(version: u64, tools: &[Box<RawValue>]) -> Self {
        let mut list = Self {
            version,
            pages: PaginatedList::build(CatalogList::Tools, version, tools),
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
        self.pages.page(params, revision)
    }

    /// The parameters of a tool that must be repeated in headers.
    pub(crate) fn headers_of(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}
