//! Requests of the revision without sessions (2026-07-28): over HTTP they repeat parts of their body in headers,
//! which a client on standard streams doesn't send.

use std::collections::HashMap;

use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::headers::{METHOD, NAME, PROTOCOL_VERSION, ParamHeader, encode};
use gatehouse_mcp_wire::raw::Members;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::value::RawValue;

use super::http::RequestHead;
use super::message::{Family, StdioRequest};
use super::session::common_headers;

/// The headers that tools want of their arguments (`x-mcp-header`), as far as their definitions were seen.
#[derive(Default)]
pub(super) struct ToolHeaders(Mutex<HashMap<String, Vec<ParamHeader>>>);

impl ToolHeaders {
    /// Learns from an answer to `tools/list`. Returns the cursor of the next page.
    pub(super) fn learn(&self, answer: &[u8]) -> Option<String> {
        let envelope: Envelope<'_> = serde_json::from_slice(answer).ok()?;
        let result = Members::of(envelope.result?).ok()?;
        let definitions: Vec<&RawValue> = serde_json::from_str(result.get("tools")?.get()).ok()?;
        let mut known = self.0.lock();
        for definition in definitions {
            let Some(name) =
                Members::of(definition).ok().and_then(|tool| Some(tool.text("name")?.into_owned()))
            else {
                continue;
            };
            match ParamHeader::of_tool(definition) {
                Ok(headers) if !headers.is_empty() => known.insert(name, headers),
                Ok(_) | Err(_) => known.remove(&name),
            };
        }
        result.text("nextCursor").map(Into::into)
    }

    fn of(&self, tool: &str) -> Vec<ParamHeader> {
        self.0.lock().get(tool).cloned().unwrap_or_default()
    }
}

/// The head of a request without a session.
pub(super) fn head(request: &StdioRequest, tools: &ToolHeaders) -> RequestHead {
    let mut headers = common_headers();
    if let Family::Stateless { version: Some(version) } = &request.family {
        set(&mut headers, PROTOCOL_VERSION, version);
    }
    set(&mut headers, METHOD, &request.method);
    if let Some(name) = &request.name {
        set(&mut headers, NAME, &encode(name));
    }
    if &*request.method == "tools/call"
        && let Some(tool) = &request.name
    {
        let wanted = tools.of(tool);
        if !wanted.is_empty()
            && let Some(arguments) = request.param("arguments")
        {
            for header in wanted {
                if let Some(value) = header.value_in(arguments) {
                    set(&mut headers, header.name.clone(), &encode(&value));
                }
            }
        }
    }
    RequestHead { method: Method::POST, headers }
}

/// The message that asks for a page of the list of tools, in the name of a request.
pub(super) fn list_request(request: &StdioRequest, cursor: Option<&str>) -> Option<StdioRequest> {
    let meta = request.param("_meta")?.get();
    let cursor = cursor.map(|cursor| format!(r#","cursor":{}"#, gatehouse_mcp_wire::raw::quoted(cursor)));
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"gatehouse-bridge","method":"tools/list","params":{{"_meta":{meta}{}}}}}"#,
        cursor.unwrap_or_default()
    );
    Some(StdioRequest {
        line: line.into(),
        id: r#""gatehouse-bridge""#.into(),
        method: "tools/list".into(),
        family: request.family.clone(),
        name: None,
    })
}

/// A value that can't be a header is left out, and the gateway says what is missing.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn call(arguments: &str) -> StdioRequest {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t é","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
        );
        let line = Bytes::from(line);
        let envelope: Envelope<'_> = serde_json::from_slice(&line).unwrap();
        StdioRequest::new(line.clone(), "1", "tools/call", envelope.params).unwrap()
    }

    #[test]
    fn repeats_the_body_in_headers() {
        let tools = ToolHeaders::default();
        let page = r#"{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"n","tools":[{"name":"t é","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}},{"name":"u"}]}}"#;
        assert_eq!(tools.learn(page.as_bytes()).as_deref(), Some("n"));
        let RequestHead { headers, .. } = head(&call(r#"{"r":"grün"}"#), &tools);
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(text("mcp-protocol-version").as_deref(), Some("2026-07-28"));
        assert_eq!(text("mcp-method").as_deref(), Some("tools/call"));
        assert_eq!(text("mcp-name"), Some(encode("t é").into_owned()));
        assert_eq!(text("mcp-param-region"), Some(encode("grün").into_owned()));
        let RequestHead { headers, .. } = head(&call(r#"{"r":null}"#), &tools);
        assert!(headers.get("mcp-param-region").is_none());
        // The tool has lost its annotation.
        assert_eq!(
            tools.learn(br#"{"id":1,"result":{"tools":[{"name":"t \u00e9","inputSchema":{}}]}}"#),
            None
        );
        let RequestHead { headers, .. } = head(&call(r#"{"r":"a"}"#), &tools);
        assert!(headers.get("mcp-param-region").is_none());
    }

    #[test]
    fn asks_for_the_list_with_the_meta_of_the_request() {
        let list = list_request(&call("{}"), Some("a\"b")).unwrap();
        assert_eq!(
            std::str::from_utf8(&list.line).unwrap(),
            r#"{"jsonrpc":"2.0","id":"gatehouse-bridge","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"cursor":"a\"b"}}"#
        );
    }
}
