//! The headers that repeat parts of the body (`MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`):
//! required by the stateless revision, and refused where they say anything else than the body.
//!
//! Something between client and gateway may have acted on the headers alone, so a difference is never repaired.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName};
use serde_json::value::RawValue;

use crate::doorstep::{Sole, sole};
use crate::envelope::{Members, text_of};
use crate::fault::Fault;

/// `MCP-Protocol-Version`
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Session-Id`
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `Last-Event-ID`
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// Reads a header that may come only once.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Fault> {
    match sole(headers, name) {
        Sole::None => Ok(None),
        Sole::One(value) => Ok(Some(value)),
        Sole::Unusable => {
            Err(Fault::header_mismatch(format!("The header {name} must come once, as plain text.")))
        }
    }
}

/// Checks `Mcp-Method` and `Mcp-Name`.
pub(crate) fn check_names(headers: &HeaderMap, method: &str, params: &Members<'_>) -> Result<(), Fault> {
    match header(headers, &METHOD)? {
        None => return Err(Fault::header_mismatch("The header Mcp-Method is missing.")),
        Some(value) if value == method => {}
        Some(_) => return Err(Fault::header_mismatch("The header Mcp-Method is not the body's method.")),
    }
    let Some(expected) = name_member(method).and_then(|member| params.text(member)) else {
        return Ok(());
    };
    match header(headers, &NAME)? {
        None => Err(Fault::header_mismatch("The header Mcp-Name is missing.")),
        Some(value) if decode(value).as_deref() == Some(&*expected) => Ok(()),
        Some(_) => Err(Fault::header_mismatch("The header Mcp-Name is not the name in the body.")),
    }
}

/// Which member of `params` the header `Mcp-Name` repeats.
fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// A header value as text: plain, or wrapped as `=?base64?…?=`.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?=")) {
        None => Some(value.into()),
        Some(inner) => {
            STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
        }
    }
}

/// One argument that a tool's schema wants repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    header: HeaderName,
    path: Vec<String>,
}

impl ParamHeader {
    /// All of them that a tool's definition names; what cannot be read names none.
    pub(crate) fn of_tool(definition: &RawValue) -> Vec<Self> {
        let mut found = Vec::new();
        if memchr::memmem::find(definition.get().as_bytes(), b"x-mcp-header").is_some()
            && let Ok(members) = Members::of(definition)
            && let Some(schema) = members.get("inputSchema")
        {
            Self::collect(schema, &mut Vec::new(), &mut found);
        }
        found
    }

    fn collect(schema: &RawValue, path: &mut Vec<String>, found: &mut Vec<Self>) {
        /// Deeper schemas are not followed.
        const DEEPEST: usize = 16;
        let Some(properties) = Members::of(schema)
            .ok()
            .and_then(|members| members.get("properties"))
            .and_then(|raw| Members::of(raw).ok())
        else {
            return;
        };
        for (name, property) in properties.iter() {
            path.push(name.to_owned());
            let suffix = Members::of(property).ok().and_then(|members| members.text("x-mcp-header"));
            if let Some(suffix) = suffix
                && !suffix.is_empty()
                && let Ok(header) = HeaderName::from_bytes(format!("{PARAM}{suffix}").as_bytes())
            {
                found.push(Self { header, path: path.clone() });
            }
            if path.len() < DEEPEST {
                Self::collect(property, path, found);
            }
            path.pop();
        }
    }

    /// Checks one header against the arguments of a call.
    pub(crate) fn check(&self, headers: &HeaderMap, arguments: Option<&RawValue>) -> Result<(), Fault> {
        let given = header(headers, &self.header)?;
        let expected = arguments.and_then(|arguments| value_at(arguments, &self.path));
        match (given, expected) {
            (None, None) => Ok(()),
            (Some(given), Some(expected)) if decode(given).as_deref() == Some(expected.as_str()) => Ok(()),
            (Some(_), Some(_)) => Err(Fault::header_mismatch(format!(
                "The header {} is not the argument's value.",
                self.header
            ))),
            (None, Some(_)) => Err(Fault::header_mismatch(format!("The header {} is missing.", self.header))),
            (Some(_), None) => {
                Err(Fault::header_mismatch(format!("The header {} belongs to no argument.", self.header)))
            }
        }
    }
}

/// The text of a string, number or boolean inside the arguments.
fn value_at(arguments: &RawValue, path: &[String]) -> Option<String> {
    let Some((name, deeper)) = path.split_first() else {
        return match arguments.get().as_bytes().first() {
            Some(b'"') => text_of(arguments).map(Cow::into_owned),
            Some(b't' | b'f' | b'-' | b'0'..=b'9') => Some(arguments.get().to_owned()),
            Some(_) | None => None,
        };
    };
    value_at(Members::of(arguments).ok()?.get(name)?, deeper)
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
    fn names_in_headers_must_be_the_names_in_the_body() {
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
            // A name that is no string is not the header's business.
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
    fn arguments_in_headers_must_be_the_arguments_in_the_body() {
        let tool = RawValue::from_string(
            r#"{"name":"t","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}}"#
                .into(),
        )
        .unwrap();
        let wanted = ParamHeader::of_tool(&tool);
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
            let found = wanted.iter().try_for_each(|one| one.check(&headers(&pairs), Some(&arguments)));
            assert_eq!(found.is_ok(), fine, "{pairs:?} {arguments}");
        }
    }
}
