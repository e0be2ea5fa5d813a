//! `tools/list`: the bodies are put together from the catalogue's raw parts once per catalogue, and handed out
//! without another copy.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::value::RawValue;

use crate::door::ToolDoor;
use crate::envelope::{Members, text_of};
use crate::fault::Fault;
use crate::mirror::ParamHeader;
use crate::revision::Revision;

/// Tools on one page. Nearly every client gets its whole list at once.
const PAGE: usize = 5_000;

/// How long a client of the stateless revision may keep the list. Changes are also announced to those that
/// listen, so this only bounds how stale the others get.
const FRESH_MS: u32 = 5_000;

/// The list of one catalogue, ready to be sent.
#[derive(Debug, Default)]
pub(crate) struct ReadyList {
    revision: u64,
    stateful: Vec<Bytes>,
    stateless: Vec<Bytes>,
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
        let mut built = ReadyList::default();
        door.with_list(&mut |tools| built = ReadyList::build(revision, tools));
        let built = Arc::new(built);
        self.ready.store(Some(Arc::clone(&built)));
        built
    }
}

impl ReadyList {
    fn build(revision: u64, tools: &[Box<RawValue>]) -> Self {
        let mut list = Self { revision, ..Self::default() };
        let pages = tools.len().div_ceil(PAGE).max(1);
        for page in 0..pages {
            let part = tools.get(page * PAGE..tools.len().min((page + 1) * PAGE)).unwrap_or_default();
            let next = (page + 1 < pages).then(|| cursor((page + 1) * PAGE));
            list.stateful.push(body(part, next.as_deref(), false));
            list.stateless.push(body(part, next.as_deref(), true));
        }
        for tool in tools {
            let headers = ParamHeader::of_tool(tool);
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
        let wrong =
            || Fault::new(hyper::StatusCode::OK, -32602, "This cursor was not given out by Gatehouse.");
        let page = match params.get("cursor") {
            None => 0,
            Some(raw) => text_of(raw).and_then(|text| parse_cursor(&text)).ok_or_else(wrong)? / PAGE,
        };
        let pages = if revision.has_result_type() { &self.stateless } else { &self.stateful };
        match pages.get(page) {
            Some(body) => Ok(body.clone()),
            // The list became shorter while it was read: there is nothing after what the client has.
            None => Ok(self::body(&[], None, revision.has_result_type())),
        }
    }

    /// The arguments that a tool wants repeated in headers.
    pub(crate) fn headers_of(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }
}

fn body(tools: &[Box<RawValue>], next: Option<&str>, stateless: bool) -> Bytes {
    let length: usize = tools.iter().map(|tool| tool.get().len() + 1).sum();
    let mut out = String::with_capacity(length + 128);
    out.push('{');
    if stateless {
        out.push_str(r#""resultType":"complete","#);
    }
    out.push_str(r#""tools":["#);
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(tool.get());
    }
    out.push(']');
    if let Some(next) = next {
        out.push_str(r#","nextCursor":""#);
        out.push_str(next);
        out.push('"');
    }
    if stateless {
        out.push_str(&format!(r#","ttlMs":{FRESH_MS},"cacheScope":"private""#));
    }
    out.push('}');
    out.into()
}

fn cursor(at: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("tools:{at}"))
}

fn parse_cursor(text: &str) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let at: usize = std::str::from_utf8(&bytes).ok()?.strip_prefix("tools:")?.parse().ok()?;
    at.is_multiple_of(PAGE).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(count: usize) -> Vec<Box<RawValue>> {
        (0..count).map(|n| RawValue::from_string(format!(r#"{{"name":"t{n}","x":1.0}}"#)).unwrap()).collect()
    }

    fn page(list: &ReadyList, params: &str, revision: Revision) -> Result<String, Fault> {
        let params: Members<'_> = serde_json::from_str(params).unwrap();
        list.page(&params, revision).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn a_list_is_one_page_and_keeps_its_bytes() {
        let list = ReadyList::build(1, &tools(2));
        assert_eq!(
            page(&list, "{}", Revision::V2025June).unwrap(),
            r#"{"tools":[{"name":"t0","x":1.0},{"name":"t1","x":1.0}]}"#
        );
        assert_eq!(
            page(&list, "{}", Revision::V2026).unwrap(),
            r#"{"resultType":"complete","tools":[{"name":"t0","x":1.0},{"name":"t1","x":1.0}],"ttlMs":5000,"cacheScope":"private"}"#
        );
        assert_eq!(page(&ReadyList::build(1, &[]), "{}", Revision::V2024).unwrap(), r#"{"tools":[]}"#);
    }

    #[test]
    fn a_long_list_is_read_page_by_page_to_its_end() {
        let list = ReadyList::build(1, &tools(10_001));
        let (mut params, mut seen, mut pages) = ("{}".to_owned(), 0, 0);
        loop {
            let text = page(&list, &params, Revision::V2025November).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            seen += value["tools"].as_array().unwrap().len();
            pages += 1;
            match value["nextCursor"].as_str() {
                Some(next) => params = format!(r#"{{"cursor":"{next}"}}"#),
                None => break,
            }
        }
        assert_eq!((seen, pages), (10_001, 3));
    }

    #[test]
    fn foreign_cursors_are_refused_and_late_ones_end_the_list() {
        let list = ReadyList::build(1, &tools(3));
        for bad in
            [r#"{"cursor":"x"}"#, r#"{"cursor":7}"#, r#"{"cursor":null}"#, r#"{"cursor":"dG9vbHM6MQ"}"#]
        {
            assert_eq!(page(&list, bad, Revision::V2026).unwrap_err().code(), -32602, "{bad}");
        }
        let late = format!(r#"{{"cursor":"{}"}}"#, cursor(PAGE));
        assert_eq!(page(&list, &late, Revision::V2024).unwrap(), r#"{"tools":[]}"#);
    }
}
