//! Paginated catalog lists: the bodies are assembled from raw parts once and sent without another copy.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gatehouse_mcp_wire::raw::{Members, text_of};
use gatehouse_tools::{CacheHints, CatalogList, ServerSelection, Viewer};
use serde_json::value::RawValue;

use crate::protocol::rpc_error::HttpRpcError;
use crate::revision::Revision;
use crate::tool_service::ToolService;

/// Items per page. Large enough that nearly every client gets its whole list in one page.
const PAGE_SIZE: usize = 5_000;

/// How long a client of the stateless revision may cache a list whose server says nothing about it, in milliseconds
/// (`ttlMs`). Clients that subscribed are also notified of changes, so this only bounds how stale the cache of others gets.
const LIST_TTL_MS: u64 = 5_000;

/// Who may share a cached list that depends on the client (`cacheScope`).
const PRIVATE: &str = "private";

/// One list, ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PaginatedList {
    list: CatalogList,
    /// Version of the catalog that the list was built from.
    version: u64,
    stateful: Vec<Bytes>,
    stateless: Vec<Bytes>,
    caching: CacheHints,
}

impl PaginatedList {
    /// Assembles a list.
    pub(crate) fn build(list: CatalogList, version: u64, caching: CacheHints, items: &[&RawValue]) -> Self {
        let mut all = Self { list, version, stateful: Vec::new(), stateless: Vec::new(), caching };
        let pages = items.len().div_ceil(PAGE_SIZE).max(1);
        for page in 0..pages {
            let part =
                items.get(page * PAGE_SIZE..items.len().min((page + 1) * PAGE_SIZE)).unwrap_or_default();
            let next = (page + 1 < pages).then(|| cursor(list, (page + 1) * PAGE_SIZE));
            all.stateful.push(body(list, part, next.as_deref(), None));
            all.stateless.push(body(list, part, next.as_deref(), Some(&all.caching)));
        }
        all
    }

    /// The result for the page that `params` asks for.
    pub(crate) fn page(&self, params: &Members<'_>, revision: Revision) -> Result<Bytes, HttpRpcError> {
        let unknown_cursor = || {
            HttpRpcError::new(hyper::StatusCode::OK, -32602, "This cursor was not given out by Gatehouse.")
        };
        let page = match params.get("cursor") {
            None => 0,
            Some(raw) => {
                text_of(raw).and_then(|text| parse_cursor(self.list, &text)).ok_or_else(unknown_cursor)?
                    / PAGE_SIZE
            }
        };
        let pages = if revision.has_result_type() { &self.stateless } else { &self.stateful };
        match pages.get(page) {
            Some(body) => Ok(body.clone()),
            // The list became shorter while the client read it, so nothing is left after its cursor.
            None => {
                let caching = revision.has_result_type().then_some(&self.caching);
                Ok(self::body(self.list, &[], None, caching))
            }
        }
    }
}

/// Where the lists of one endpoint come from, as one viewer sees them.
#[derive(Clone, Copy)]
pub(crate) struct ListSource<'a> {
    pub(crate) tool_service: &'a dyn ToolService,
    pub(crate) viewer: &'a Viewer,
    pub(crate) servers: &'a ServerSelection,
}

impl ListSource<'_> {
    pub(crate) fn with_list(&self, list: CatalogList, read: &mut dyn FnMut(&[&RawValue])) {
        self.tool_service.with_list(self.viewer, self.servers, list, read);
    }

    /// What is said about caching a list: for one server by itself what that server says, for all servers the shortest
    /// time of any. Nobody may share what a profile made of a list.
    pub(crate) fn caching(&self, list: CatalogList) -> CacheHints {
        let by_server = self.tool_service.cache_hints(self.viewer, self.servers, list);
        let own = || CacheHints { ttl_ms: LIST_TTL_MS, scope: PRIVATE.to_owned() };
        match self.servers {
            ServerSelection::One(_) => {
                let hints = by_server.into_iter().next().flatten().unwrap_or_else(own);
                let is_for_all = self.tool_service.view_key(self.viewer).is_for_all();
                if is_for_all { hints } else { CacheHints { scope: own().scope, ..hints } }
            }
            ServerSelection::All => {
                let times =
                    by_server.iter().map(|hints| hints.as_ref().map_or(LIST_TTL_MS, |hints| hints.ttl_ms));
                CacheHints { ttl_ms: times.min().unwrap_or(LIST_TTL_MS), ..own() }
            }
        }
    }
}

/// Caches one list until its version changes.
#[derive(Debug)]
pub(crate) struct PaginatedListCache {
    list: CatalogList,
    ready: ArcSwapOption<PaginatedList>,
}

impl PaginatedListCache {
    pub(crate) fn new(list: CatalogList) -> Self {
        Self { list, ready: ArcSwapOption::empty() }
    }

    /// The current list. `version` is the version of the catalog that the caller read.
    pub(crate) fn current(&self, source: ListSource<'_>, version: u64) -> Arc<PaginatedList> {
        if let Some(ready) = self.ready.load_full()
            && ready.version == version
        {
            return ready;
        }
        // The version is read before the list, so if the list is already newer than its version, the worst
        // that happens is that it is built twice.
        let caching = source.caching(self.list);
        let mut built = None;
        source.with_list(self.list, &mut |items| {
            built = Some(PaginatedList::build(self.list, version, caching.clone(), items));
        });
        let built =
            Arc::new(built.unwrap_or_else(|| PaginatedList::build(self.list, version, caching.clone(), &[])));
        self.ready.store(Some(Arc::clone(&built)));
        built
    }
}

fn member(list: CatalogList) -> &'static str {
    match list {
        CatalogList::Tools => "tools",
        CatalogList::Resources => "resources",
        CatalogList::Templates => "resourceTemplates",
        CatalogList::Prompts => "prompts",
    }
}

/// The result with these items; with `caching` in the stateless revision.
fn body(list: CatalogList, items: &[&RawValue], next: Option<&str>, caching: Option<&CacheHints>) -> Bytes {
    let length: usize = items.iter().map(|item| item.get().len() + 1).sum();
    let mut out = String::with_capacity(length + 128);
    out.push('{');
    if caching.is_some() {
        out.push_str(r#""resultType":"complete","#);
    }
    out.push('"');
    out.push_str(member(list));
    out.push_str(r#"":["#);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(item.get());
    }
    out.push(']');
    if let Some(next) = next {
        out.push_str(r#","nextCursor":""#);
        out.push_str(next);
        out.push('"');
    }
    if let Some(CacheHints { ttl_ms, scope }) = caching {
        out.push_str(&format!(r#","ttlMs":{ttl_ms},"cacheScope":"{scope}""#));
    }
    out.push('}');
    out.into()
}

fn cursor(list: CatalogList, at: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}:{at}", member(list)))
}

fn parse_cursor(list: CatalogList, text: &str) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let at = std::str::from_utf8(&bytes).ok()?.strip_prefix(member(list))?.strip_prefix(':')?;
    let at: usize = at.parse().ok()?;
    at.is_multiple_of(PAGE_SIZE).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of_tools(count: usize) -> PaginatedList {
        let item = |n| RawValue::from_string(format!(r#"{{"name":"t{n}","x":1.0}}"#)).unwrap();
        let items: Vec<Box<RawValue>> = (0..count).map(item).collect();
        let items: Vec<&RawValue> = items.iter().map(|item| &**item).collect();
        PaginatedList::build(CatalogList::Tools, 1, hints(), &items)
    }

    fn hints() -> CacheHints {
        CacheHints { ttl_ms: 5000, scope: "private".to_owned() }
    }

    fn page(list: &PaginatedList, params: &str, revision: Revision) -> Result<String, HttpRpcError> {
        let params: Members<'_> = serde_json::from_str(params).unwrap();
        list.page(&params, revision).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn renders_list_as_one_page_with_raw_items() {
        let list = list_of_tools(2);
        assert_eq!(
            page(&list, "{}", Revision::V2025June).unwrap(),
            r#"{"tools":[{"name":"t0","x":1.0},{"name":"t1","x":1.0}]}"#
        );
        assert_eq!(
            page(&list, "{}", Revision::V2026).unwrap(),
            r#"{"resultType":"complete","tools":[{"name":"t0","x":1.0},{"name":"t1","x":1.0}],"ttlMs":5000,"cacheScope":"private"}"#
        );
        for (list, member) in [
            (CatalogList::Tools, "tools"),
            (CatalogList::Resources, "resources"),
            (CatalogList::Templates, "resourceTemplates"),
            (CatalogList::Prompts, "prompts"),
        ] {
            let empty = page(&PaginatedList::build(list, 1, hints(), &[]), "{}", Revision::V2024).unwrap();
            assert_eq!(empty, format!(r#"{{"{member}":[]}}"#));
        }
    }

    #[test]
    fn pages_through_long_list() {
        let list = list_of_tools(10_001);
        let (mut params, mut items, mut pages) = ("{}".to_owned(), 0, 0);
        loop {
            let text = page(&list, &params, Revision::V2025November).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            items += value["tools"].as_array().unwrap().len();
            pages += 1;
            match value["nextCursor"].as_str() {
                Some(next) => params = format!(r#"{{"cursor":"{next}"}}"#),
                None => break,
            }
        }
        assert_eq!((items, pages), (10_001, 3));
    }

    #[test]
    fn rejects_foreign_cursors_and_ends_list_on_stale_ones() {
        let list = list_of_tools(3);
        for bad in
            [r#"{"cursor":"x"}"#, r#"{"cursor":7}"#, r#"{"cursor":null}"#, r#"{"cursor":"dG9vbHM6MQ"}"#]
        {
            assert_eq!(page(&list, bad, Revision::V2026).unwrap_err().code, -32602, "{bad}");
        }
        let other = format!(r#"{{"cursor":"{}"}}"#, cursor(CatalogList::Prompts, PAGE_SIZE));
        assert_eq!(page(&list, &other, Revision::V2026).unwrap_err().code, -32602, "of another list");
        let late = format!(r#"{{"cursor":"{}"}}"#, cursor(CatalogList::Tools, PAGE_SIZE));
        assert_eq!(page(&list, &late, Revision::V2024).unwrap(), r#"{"tools":[]}"#);
    }
}
