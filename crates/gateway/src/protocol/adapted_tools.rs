//! The list of tools in the format of a model provider, for each format built once per version of the catalog, and the
//! schemas of its tools as their servers wrote them.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_models::adapters::{AdaptedTools, ToolFormat};
use gatehouse_tools::CatalogList;
use serde_json::value::RawValue;

use crate::protocol::pagination::ListSource;

/// The list of one version of the catalog in one format.
#[derive(Debug)]
pub(crate) struct AdaptedToolList {
    version: u64,
    pub(crate) tools: AdaptedTools,
    /// Place of each tool in the list that it was made from, by its exposed name.
    places: HashMap<Box<str>, usize>,
    /// The whole list, as it is sent.
    pub(crate) body: TaggedBody,
}

/// A body with its validator (RFC 9110), by which a client asks whether it has changed.
#[derive(Clone, Debug)]
pub(crate) struct TaggedBody {
    pub(crate) bytes: Bytes,
    pub(crate) tag: String,
}

/// Caches the list of the current catalog in each format.
#[derive(Debug, Default)]
pub(crate) struct AdaptedToolLists {
    ready: [ArcSwapOption<AdaptedToolList>; ToolFormat::ALL.len()],
}

impl AdaptedToolLists {
    /// The current list in a format. `version` is the version of the catalog that the caller read; `write` makes the body of
    /// a new list.
    pub(crate) fn current(
        &self,
        source: ListSource<'_>,
        version: u64,
        format: ToolFormat,
        write: &dyn Fn(&AdaptedTools) -> TaggedBody,
    ) -> Arc<AdaptedToolList> {
        let place = ToolFormat::ALL.iter().position(|known| *known == format);
        let cache = place.and_then(|place| self.ready.get(place));
        if let Some(ready) = cache.and_then(|cache| cache.load_full())
            && ready.version == version
        {
            return ready;
        }
        // As for other lists: if it is already newer than its version, it is built twice at worst.
        let mut built = None;
        source.with_list(CatalogList::Tools, &mut |listed| {
            let tools = AdaptedTools::new(format, listed.iter().copied());
            let names = listed.iter().enumerate().filter_map(|(place, tool)| Some((name_of(tool)?, place)));
            built = Some((tools, names.collect()));
        });
        let (tools, places) =
            built.unwrap_or_else(|| (AdaptedTools::new(format, std::iter::empty()), HashMap::new()));
        let body = write(&tools);
        let list = Arc::new(AdaptedToolList { version, tools, places, body });
        if let Some(cache) = cache {
            cache.store(Some(Arc::clone(&list)));
        }
        list
    }
}

impl AdaptedToolList {
    /// The tool with this exposed name, as clients list it; `None` if it isn't listed.
    pub(crate) fn listed_tool(&self, source: ListSource<'_>, exposed: &str) -> Option<Box<RawValue>> {
        let place = *self.places.get(exposed)?;
        let is_it = |tool: &RawValue| name_of(tool).as_deref() == Some(exposed);
        let mut found = None;
        source.with_list(CatalogList::Tools, &mut |listed| {
            // The list may have changed since.
            let at_place = listed.get(place).filter(|tool| is_it(tool));
            found =
                at_place.or_else(|| listed.iter().find(|tool| is_it(tool))).map(|tool| (*tool).to_owned());
        });
        found
    }
}

fn name_of(tool: &RawValue) -> Option<Box<str>> {
    Members::of(tool).ok()?.text("name").map(Into::into)
}
