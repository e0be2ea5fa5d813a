//! `tools/list`: the pages, and the tools' parameters that must be repeated in MCP headers.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use gatehouse_mcp_wire::headers::ParamHeader;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::ListOf;
use serde_json::value::RawValue;

use crate::door::ToolDoor;
use crate::fault::Fault;
use crate::pages::Pages;
use crate::revision::Revision;

/// The list of one catalog revision, ready to be sent.
#[derive(Debug)]
pub(crate) struct ReadyList {
    revision: u64,
    pages: Pages,
    headers: HashMap<String, Vec<ParamHeader>>,
}

/// Caches the list of the current catalog.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    ready: ArcSwapOption<ReadyList>,
}

impl ToolList {
    /// The current list. `revision` is the catalog revision that the caller saw.
    pub(crate) fn now(&self, door: &dyn ToolDoor, revision: u64) -> Arc<ReadyList> {
        if let Some(ready) = self.ready.load_full()
            && ready.revision == revision
        {
            return ready;
        }
        // The revision is read before the list, so if the list is already newer than its number, the worst
        // that happens is that it is built twice.
        let mut built = None;
        door.with_list(ListOf::Tools, &mut |tools| built = Some(ReadyList::build(revision, tools)));
        let built = Arc::new(built.unwrap_or_else(|| ReadyList::build(revision, &[])));
        self.ready.store(Some(Arc::clone(&built)));
        built
    }
}

impl ReadyList {
    fn build(revision: u64, tools: &[Box<RawValue>]) -> Self {
        let mut list = Self { revision, pages: Pages::build(ListOf::Tools, tools), headers: HashMap::new() };
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
    pub(crate) fn page(&self, params: &Members<'_>, revision: Revision) -> Result<Bytes, Fault> {
        self.pages.page(params, revision)
    }

    /// The parameters of a tool that must be repeated in headers.
    pub(crate) fn headers_of(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}
