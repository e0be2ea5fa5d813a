//! MCP headers: the headers that repeat parts of the body (`MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`,
//! `Mcp-Param-*`). The stateless revision requires them; a request in which they differ from the body is
//! rejected.
//!
//! An intermediary may have acted on the headers alone, so a difference is never repaired.

use gatehouse_mcp_wire::headers::{
    METHOD, NAME, PROTOCOL_VERSION, ParamHeader, SESSION_ID, decode, name_member,
};
use gatehouse_mcp_wire::raw::Members;
use hyper::header::{HeaderMap, HeaderName};
use serde_json::value::RawValue;

use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::single_header::{SingleHeader, single_header};
use crate::revision;

pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Reads a header that may occur only once.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpRpcError> {
    match single_header(headers, name) {
        SingleHeader::None => Ok(None),
        SingleHeader::One(value) => Ok(Some(value)),
        SingleHeader::Unusable => {
            Err(HttpRpcError::header_mismatch(format!("The header {name} must come once, as plain text.")))
        }
    }
}

/// Whether the `MCP-Protocol-Version` header alone shows that the request belongs to the stateless revisions.
pub(crate) fn is_stateless(headers: &HeaderMap) -> bool {
    matches!(header(headers, &PROTOCOL_VERSION), Ok(Some(version)) if revision::is_stateless_version(version))
}

/// The session id in the request head.
pub(crate) fn session_id(headers: &HeaderMap) -> Result<&str, HttpRpcError> {
    match header(headers, &SESSION_ID) {
        Ok(Some(id)) => Ok(id),
        Ok(None) => {
            Err(HttpRpcError::invalid_request("The header Mcp-Session-Id is missing; begin with initialize."))
        }
        Err(_) => {
            Err(HttpRpcError::invalid_request("The header Mcp-Session-Id must come once, as plain text."))
        }
    }
}

/// Checks `Mcp-Method` and `Mcp-Name`.
pub(crate) fn check_names(
    headers: &HeaderMap,
    method: &str,
    params: &Members<'_>,
) -> Result<(), HttpRpcError> {
    match header(headers, &METHOD)? {
        None => return Err(HttpRpcError::header_mismatch("The header Mcp-Method is missing.")),
        Some(value) if value == method => {}
        Some(_) => {
            return Err(HttpRpcError::header_mismatch("The header Mcp-Method is not the body's method."));
        }
    }
    let Some(expected) = name_member(method).and_then(|member| params.text(member)) else {
        return Ok(());
    };
    match header(headers, &NAME)? {
        None => Err(HttpRpcError::header_mismatch("The header Mcp-Name is missing.")),
        Some(value) if decode(value).as_deref() == Some(&*expected) => Ok(()),
        Some(_) => Err(HttpRpcError::header_mismatch("The header Mcp-Name is not the name in the body.")),
    }
}

/// Checks one of the headers required by a tool's schema against the arguments of a call.
pub(crate) fn check_param(
    param: &ParamHeader,
    headers: &HeaderMap,
    arguments: Option<&RawValue>,
) -> Result<(), HttpRpcError> {
    let given = header(headers, &param.name)?;
    let expected = arguments.and_then(|arguments| param.value_in(arguments));
    match (given, expected) {
        (None, None) => Ok(()),
        (Some(given), Some(expected)) if decode(given).as_deref() == Some(&*expected) => Ok(()),
        (Some(_), Some(_)) => Err(HttpRpcError::header_mismatch(format!(
            "The header {} is not the argument's value.",
            param.name
        ))),
        (None, Some(_)) => {
            Err(HttpRpcError::header_mismatch(format!("The header {} is missing.", param.name)))
        }
        (Some(_), None) => {
            Err(HttpRpcError::header_mismatch(format!("The header {} belongs to no argument.", param.name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn rejects_name_headers_that_differ_from_body() {
        for (pairs, method, params, fine) in [
            (vec![("mcp-method", "tools/list")], "tools/list", "{}", true),
            (vec![], "tools/list", "{}", false),
            (vec![("mcp-method", "tools/call")], "tools/list", "{}", false),
            (vec![("mcp-method", "tools/list"), ("mcp-method", "tools/list")], "tools/list", "{}", false),
            (vec![("mcp-method", "tools/call"), ("mcp-name", "x")], "tools/call", r#"{"name":"x"}"#, true),
            (vec![("mcp-method", "tools/call"), ("mcp-name", "y")], "tools/call", r#"{"name":"x"}"#, false),
            (vec![("mcp-method", "tools/call")], "tools/call", r#"{"name":"x"}"#, false),
            (
                vec![("mcp-method", "tools/call"), ("mcp-name", "=?base64?w6k=?=")],
                "tools/call",
                r#"{"name":"é"}"#,
                true,
            ),
            (
                vec![("mcp-method", "tools/call"), ("mcp-name", "=?base64?w6k?=")],
                "tools/call",
                r#"{"name":"é"}"#,
                false,
            ),
            // A name that isn't a string isn't checked here.
            (vec![("mcp-method", "tools/call")], "tools/call", r#"{"name":7}"#, true),
            (
                vec![("mcp-method", "resources/read"), ("mcp-name", "a:b")],
                "resources/read",
                r#"{"uri":"a:b"}"#,
                true,
            ),
        ] {
            let params: Members<'_> = serde_json::from_str(params).unwrap();
            assert_eq!(check_names(&headers(&pairs), method, &params).is_ok(), fine, "{pairs:?} {method}");
        }
    }

    #[test]
    fn rejects_param_headers_that_differ_from_arguments() {
        let tool = RawValue::from_string(
            r#"{"name":"t","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}}"#
                .into(),
        )
        .unwrap();
        let wanted = ParamHeader::of_tool(&tool).unwrap();
        assert_eq!(wanted.len(), 2);
        for (pairs, arguments, fine) in [
            (vec![("mcp-param-region", "eu")], r#"{"region":"eu"}"#, true),
            (vec![("mcp-param-region", "us")], r#"{"region":"eu"}"#, false),
            (vec![], r#"{"region":"eu"}"#, false),
            (vec![("mcp-param-region", "eu")], "{}", false),
            (vec![("mcp-param-region", "eu")], r#"{"region":null}"#, false),
            (vec![("mcp-param-n", "12")], r#"{"deep":{"n":12}}"#, true),
            (vec![("mcp-param-n", "13")], r#"{"deep":{"n":12}}"#, false),
            (vec![], "{}", true),
        ] {
            let arguments = RawValue::from_string(arguments.into()).unwrap();
            let found =
                wanted.iter().try_for_each(|one| check_param(one, &headers(&pairs), Some(&arguments)));
            assert_eq!(found.is_ok(), fine, "{pairs:?} {arguments}");
        }
    }
}
