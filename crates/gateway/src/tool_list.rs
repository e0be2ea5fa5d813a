//! `tools/list`: the pages, and beside them what the tools want repeated in headers.

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

/// The list of one catalogue, ready to be sent.
#[derive(Debug)]
pub(crate) struct ReadyList {
    revision: u64,
    pages: Pages,
    headers: HashMap<String, Vec<ParamHeader>>,
}

/// Keeps the list of the present catalogue.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    ready: ArcSwapOption<ReadyList>,
}

impl ToolList {
    /// The list as it stands.
    pub(crate) fn now(&self, door: &dyn ToolDoor, revision: u64) -> Arc<ReadyList> {
        if let Some(ready) = self.ready.load_full()
            && ready.revision == revision
        {
            return ready;
        }
        // The revision was read before the list, so a list that is newer than its number is at worst built twice.
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
            // A tool whose annotations are wrong is in no catalogue.
            let headers = ParamHeader::of_tool(tool).unwrap_or_default();
            if !headers.is_empty()
                && let Some(name) = Members::of(tool).ok().and_then(|members| members.text("name"))
            {
                list.headers.insert(name.into_owned(), headers);
            }
        }
        list
    }

    /// The result for one page.
    pub(crate) fn page(&self, params: &Members<'_>, revision: Revision) -> Result<Bytes, Fault> {
        self.pages.page(params, revision)
    }

    /// The arguments that a tool wants repeated in headers.
    pub(crate) fn headers_of(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}
