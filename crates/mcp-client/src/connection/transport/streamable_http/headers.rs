//! MCP headers of the stateless revision: method, name, and the arguments that a tool's schema
//! marks with `x-mcp-header`.
//!
//! Intermediaries may route by these headers, so they must match the body exactly; a number is sent
//! as it is written in the body.

use std::collections::HashMap;

use gatehouse_mcp_wire::headers::{METHOD, NAME, ParamHeader, encode, name_member};
use gatehouse_mcp_wire::raw::Members;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::request::RequestParams;

/// The annotated arguments of each tool, taken from the server's tool lists.
#[derive(Default)]
pub(super) struct ParamHeaders {
    tools: RwLock<HashMap<String, Vec<ParamHeader>>>,
}

impl ParamHeaders {
    /// Learns the annotations from the result of a `tools/list`.
    pub(super) fn learn(&self, result: &RawValue) {
        #[derive(Deserialize)]
        struct ToolsListResult<'a> {
            #[serde(borrow, default)]
            tools: Vec<&'a RawValue>,
        }
        let Ok(ToolsListResult { tools }) = serde_json::from_str::<ToolsListResult<'_>>(result.get()) else {
            return;
        };
        for raw in tools {
            // A tool with invalid annotations is not offered, so none are recorded.
            let found = ParamHeader::of_tool(raw).unwrap_or_default();
            if found.is_empty() && self.tools.read().is_empty() {
                continue;
            }
            let Some(name) = Members::of(raw).ok().and_then(|tool| tool.text("name")) else { continue };
            if found.is_empty() {
                self.tools.write().remove(&*name);
            } else {
                self.tools.write().insert(name.into_owned(), found);
            }
        }
    }

    /// Adds the headers of a tool call.
    fn add(&self, tool: &str, arguments: &RawValue, headers: &mut HeaderMap) {
        let tools = self.tools.read();
        let Some(annotated) = tools.get(tool) else { return };
        for param in annotated {
            if let Some(text) = param.value_in(arguments)
                && let Ok(value) = HeaderValue::from_str(&encode(&text))
            {
                headers.insert(param.name.clone(), value);
            }
        }
    }
}

/// The headers that repeat parts of the body.
pub(super) fn request_headers(method: &str, params: &RequestParams, annotated: &ParamHeaders) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(METHOD, method);
    let name = name_member(method).and_then(|member| params.text(member));
    if let Some(name) = &name {
        put(NAME, &encode(name));
    }
    if method == "tools/call"
        && let (Some(name), Some(arguments)) = (name, params.get("arguments"))
    {
        annotated.add(&name, arguments, &mut headers);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn sends_annotated_arguments_as_headers() {
        let annotated = ParamHeaders::default();
        annotated.learn(&raw(
            r#"{"tools":[{"name":"other","inputSchema":{}},{"name":"q","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
                "gone":{"type":"string","x-mcp-header":"Gone"},
                "free":{"type":"string"}}}}]}"#,
        ));
        let params = RequestParams::none().with_text("name", "q").with(
            "arguments",
            raw(r#"{"region":"eu \u00e9","deep":{"n":12345678901234567890},"gone":null,"free":"x"}"#),
        );
        let headers = request_headers("tools/call", &params, &annotated);
        let get = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(get("mcp-method"), Some("tools/call"));
        assert_eq!(get("mcp-name"), Some("q"));
        assert_eq!(get("mcp-param-region"), Some("=?base64?ZXUgw6k=?="));
        assert_eq!(get("mcp-param-n"), Some("12345678901234567890"));
        assert_eq!(get("mcp-param-gone"), None);
        assert_eq!(headers.len(), 4);

        annotated.learn(&raw(
            r#"{"tools":[{"name":"q","inputSchema":{"properties":{"region":{"type":"string"}}}}]}"#,
        ));
        assert_eq!(
            request_headers("tools/call", &params, &annotated).len(),
            2,
            "a new list without annotations"
        );
    }
}
