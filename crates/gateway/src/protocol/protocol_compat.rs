//! Adapts raw results and errors to the client's revision by cutting and inserting bytes.
//!
//! Values are never reserialized. `resultType` is added for the stateless revision. A result that has one comes from a
//! server of that revision; for the older ones, it loses the members that only that revision has. An error code that a
//! revision doesn't have is replaced by the one that it does have.

use bytes::Bytes;
use gatehouse_mcp_wire::raw::{Members, place, removal, splice};
use memchr::memmem;
use serde_json::value::RawValue;

use crate::revision::Revision;

/// The member of a result's `_meta` in which a server of the stateless revision identifies itself.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// An adapted result: an inserted head, and the rest, which shares the upstream's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdaptedResult {
    pub(crate) head: &'static str,
    pub(crate) rest: Bytes,
}

/// Why a result can't be sent to a client of this revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdaptError {
    /// The result isn't an object.
    NotAnObject,
    /// The revision doesn't have this result type (input required, a task).
    UnknownType,
}

/// Turns a raw value into bytes without copying.
fn into_bytes(raw: Box<RawValue>) -> Bytes {
    let text: Box<str> = raw.into();
    Bytes::from(text.into_boxed_bytes())
}

/// Adapts a result to a revision.
pub(crate) fn adapt_result(raw: Box<RawValue>, revision: Revision) -> Result<AdaptedResult, AdaptError> {
    let text = raw.get();
    let Some(inside) = text.strip_prefix('{') else {
        return Err(AdaptError::NotAnObject);
    };
    let declared = if memmem::find(text.as_bytes(), b"\"resultType\"").is_some() {
        Members::of(&raw).ok().and_then(|members| members.get("resultType").map(|kind| kind.get().to_owned()))
    } else {
        None
    };
    match (declared, revision.has_result_type()) {
        (Some(_), true) | (None, false) => Ok(AdaptedResult { head: "", rest: into_bytes(raw) }),
        (None, true) => {
            let empty = inside.trim_ascii_start().starts_with('}');
            let head = if empty { r#"{"resultType":"complete""# } else { r#"{"resultType":"complete","# };
            Ok(AdaptedResult { head, rest: into_bytes(raw).slice(1..) })
        }
        (Some(kind), false) if kind == "\"complete\"" => {
            Ok(AdaptedResult { head: "", rest: without_stateless_members(&raw) })
        }
        (Some(_), false) => Err(AdaptError::UnknownType),
    }
}

/// As [`adapt_result`], for results with cache hints in the newest revision. If the server sends none, the
/// result is marked as private to this client (`cacheScope`) and not cacheable (`ttlMs` 0).
pub(crate) fn adapt_read_result(raw: Box<RawValue>, revision: Revision) -> Result<AdaptedResult, AdaptError> {
    if !revision.has_result_type() {
        return adapt_result(raw, revision);
    }
    let lacks = Members::of(&raw).ok().map(|members| {
        let lacks = |name: &str| members.get(name).is_none();
        let complete = members.get("resultType").is_none_or(|kind| kind.get() == "\"complete\"");
        let empty = members.iter().next().is_none();
        (complete && !empty).then(|| (lacks("resultType"), lacks("ttlMs"), lacks("cacheScope")))
    });
    let Some(Some(lacks)) = lacks else { return adapt_result(raw, revision) };
    let head = match lacks {
        (false, false, false) => return Ok(AdaptedResult { head: "", rest: into_bytes(raw) }),
        (false, false, true) => r#"{"cacheScope":"private","#,
        (false, true, false) => r#"{"ttlMs":0,"#,
        (false, true, true) => r#"{"ttlMs":0,"cacheScope":"private","#,
        (true, false, false) => r#"{"resultType":"complete","#,
        (true, false, true) => r#"{"resultType":"complete","cacheScope":"private","#,
        (true, true, false) => r#"{"resultType":"complete","ttlMs":0,"#,
        (true, true, true) => r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#,
    };
    Ok(AdaptedResult { head, rest: into_bytes(raw).slice(1..) })
}

/// A complete result without what only the stateless revision has: the type of the result, how long it may be cached,
/// and the server's identity with each result. All other bytes stay.
fn without_stateless_members(raw: &RawValue) -> Bytes {
    let text = raw.get();
    let members = Members::of(raw).unwrap_or_default();
    let meta = members.get("_meta").and_then(|meta| Some((meta, Members::of(meta).ok()?)));
    let identified = meta.filter(|(_, names)| names.get(SERVER_INFO).is_some());
    // A `_meta` that has nothing else is removed with it.
    let is_meta_removed =
        identified.as_ref().is_some_and(|(_, names)| names.names().all(|name| name == SERVER_INFO));
    let mut edits = removal(text, &members, |name| match name {
        "resultType" | "ttlMs" | "cacheScope" => true,
        "_meta" => is_meta_removed,
        _ => false,
    });
    if let Some((meta, names)) = identified.filter(|_| !is_meta_removed) {
        let kept = splice(meta.get(), removal(meta.get(), &names, |name| name == SERVER_INFO));
        edits.push((place(text, meta.get()), kept));
    }
    splice(text, edits).into()
}

/// The code of a raw error object.
pub(crate) fn error_code(raw: &RawValue) -> Option<i32> {
    Members::of(raw).ok()?.get("code")?.get().parse().ok()
}

/// Replaces the code of a raw error object by one that the revision has (-32002 by -32602 in the newest).
/// Everything else is unchanged.
pub(crate) fn adapt_error(raw: Box<RawValue>, revision: Revision) -> Bytes {
    if revision.has_result_type()
        && error_code(&raw) == Some(-32002)
        && let Ok(members) = Members::of(&raw)
        && let Some(code) = members.get("code")
    {
        return splice(raw.get(), vec![(place(raw.get(), code.get()), "-32602".to_owned())]).into();
    }
    into_bytes(raw)
}

/// The params of a progress notification, with the client's own token inserted.
pub(crate) fn with_progress_token(params: &RawValue, token: &str) -> Option<String> {
    let inside = params.get().strip_prefix('{')?;
    let comma = if inside.trim_ascii_start().starts_with('}') { "" } else { "," };
    Some(format!(r#"{{"progressToken":{token}{comma}{inside}"#))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn adapt(text: &str, revision: Revision) -> Result<String, AdaptError> {
        adapt_result(raw(text), revision)
            .map(|adapted| format!("{}{}", adapted.head, std::str::from_utf8(&adapted.rest).unwrap()))
    }

    #[test]
    fn adds_cache_hints_to_read_results() {
        use Revision::{V2025November as Old, V2026 as New};
        for (given, revision, adapted) in [
            (r#"{"contents":[ ]}"#, Old, Ok(r#"{"contents":[ ]}"#)),
            (
                r#"{"contents":[{"ttlMs":1}]}"#,
                New,
                Ok(r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"ttlMs":1}]}"#),
            ),
            (
                r#"{"ttlMs":5,"contents":[],"resultType":"complete"}"#,
                New,
                Ok(r#"{"cacheScope":"private","ttlMs":5,"contents":[],"resultType":"complete"}"#),
            ),
            (
                r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public","contents":[]}"#,
                New,
                Ok(r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public","contents":[]}"#),
            ),
            (
                r#"{"resultType":"input_required","requestState":"s"}"#,
                New,
                Ok(r#"{"resultType":"input_required","requestState":"s"}"#),
            ),
            ("{}", New, Ok(r#"{"resultType":"complete"}"#)),
            ("[]", New, Err(AdaptError::NotAnObject)),
        ] {
            let read = adapt_read_result(raw(given), revision)
                .map(|adapted| format!("{}{}", adapted.head, std::str::from_utf8(&adapted.rest).unwrap()));
            assert_eq!(read, adapted.map(str::to_owned), "{given}");
        }
    }

    #[test]
    fn adapts_result_type_to_revision() {
        use Revision::{V2025November as Old, V2026 as New};
        for (given, revision, adapted) in [
            // Older clients: unchanged unless there is a resultType.
            (r#"{"content":[] , "x":1e400}"#, Old, Ok(r#"{"content":[] , "x":1e400}"#)),
            (r#"{"resultType":"complete","content":[1, 2]}"#, Old, Ok(r#"{"content":[1, 2]}"#)),
            (r#"{"a":"é\n","resultType":"complete"}"#, Old, Ok(r#"{"a":"é\n"}"#)),
            (r#"{"resultType":"complete"}"#, Old, Ok("{}")),
            (
                r#"{ "resultType" : "complete" , "\u0061" :[ 1 ], "_meta":{ "b" : 1e0 ,"io.modelcontextprotocol/serverInfo":{}	} ,"z":0 }"#,
                Old,
                Ok(r#"{ "\u0061" :[ 1 ], "_meta":{ "b" : 1e0	} ,"z":0 }"#),
            ),
            // Nor do they get the other members of the stateless revision.
            (
                r#"{"resultType":"complete","content":[ ],"ttlMs":0,"cacheScope":"private","_meta":{"a":1.0,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#,
                Old,
                Ok(r#"{"content":[ ],"_meta":{"a":1.0}}"#),
            ),
            (
                r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{}},"n":1}"#,
                Old,
                Ok(r#"{"n":1}"#),
            ),
            (
                r#"{"resultType":"complete","_meta":{"a":{"io.modelcontextprotocol/serverInfo":1}}}"#,
                Old,
                Ok(r#"{"_meta":{"a":{"io.modelcontextprotocol/serverInfo":1}}}"#),
            ),
            // A server of an older revision may use these names for anything.
            (
                r#"{"ttlMs":5,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":1}}"#,
                Old,
                Ok(r#"{"ttlMs":5,"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":1}}"#),
            ),
            // A resultType below the top level is left alone.
            (
                r#"{"content":[{"resultType":"complete"}]}"#,
                Old,
                Ok(r#"{"content":[{"resultType":"complete"}]}"#),
            ),
            (r#"{"resultType":"input_required","inputRequests":{}}"#, Old, Err(AdaptError::UnknownType)),
            (r#"{"resultType":"task","taskId":"1"}"#, Old, Err(AdaptError::UnknownType)),
            // Stateless revision: added if absent.
            (
                r#"{"content":[],"n":12345678901234567890}"#,
                New,
                Ok(r#"{"resultType":"complete","content":[],"n":12345678901234567890}"#),
            ),
            ("{}", New, Ok(r#"{"resultType":"complete"}"#)),
            ("{ }", New, Ok(r#"{"resultType":"complete" }"#)),
            (
                r#"{"content":[{"resultType":1}]}"#,
                New,
                Ok(r#"{"resultType":"complete","content":[{"resultType":1}]}"#),
            ),
            (r#"{"resultType":"input_required"}"#, New, Ok(r#"{"resultType":"input_required"}"#)),
            ("[]", New, Err(AdaptError::NotAnObject)),
            ("null", Old, Err(AdaptError::NotAnObject)),
        ] {
            assert_eq!(adapt(given, revision), adapted.map(str::to_owned), "{given} {revision:?}");
        }
    }

    #[test]
    fn adapts_error_code_to_revision() {
        use Revision::{V2025November as Old, V2026 as New};
        for (given, revision, adapted) in [
            (
                r#"{"code":-32002,"message":"m","data":{"uri":"x"}}"#,
                Old,
                r#"{"code":-32002,"message":"m","data":{"uri":"x"}}"#,
            ),
            (
                r#"{"message":"m", "code" : -32002 ,"data":1.0}"#,
                New,
                r#"{"message":"m", "code" : -32602 ,"data":1.0}"#,
            ),
            (r#"{"code":-32603,"message":"-32002"}"#, New, r#"{"code":-32603,"message":"-32002"}"#),
        ] {
            assert_eq!(adapt_error(raw(given), revision), adapted.as_bytes(), "{given} {revision:?}");
        }
    }

    #[test]
    fn restores_client_progress_token() {
        assert_eq!(
            with_progress_token(&raw(r#"{"progress":1.50,"total":2}"#), r#""t""#).unwrap(),
            r#"{"progressToken":"t","progress":1.50,"total":2}"#
        );
        assert_eq!(with_progress_token(&raw("{}"), "7").unwrap(), r#"{"progressToken":7}"#);
        assert!(with_progress_token(&raw("1"), "7").is_none());
    }
}
