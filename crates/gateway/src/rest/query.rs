//! Reads what a request says in its query and its headers. What isn't known in a query is refused, so that no typing error
//! goes unnoticed.

use std::time::Duration;

use gatehouse_models::adapters::ToolFormat;
use hyper::header::{HeaderMap, HeaderName};
use url::form_urlencoded;

use crate::rest::problem::ProblemDetails;

/// RFC 7240.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The formats by their names in a query.
const FORMATS: [(&str, ToolFormat); 5] = [
    ("openai", ToolFormat::OpenAiChat),
    ("openai-responses", ToolFormat::OpenAiResponses),
    ("anthropic", ToolFormat::Anthropic),
    ("gemini", ToolFormat::Gemini),
    ("mcp", ToolFormat::Mcp),
];

/// The name of a format in a query.
pub(crate) fn format_name(format: ToolFormat) -> &'static str {
    FORMATS.into_iter().find(|(_, known)| *known == format).map_or("", |(name, _)| name)
}

/// The format that a query names. Nothing else may be in it.
pub(crate) fn format(query: Option<&str>) -> Result<Option<ToolFormat>, ProblemDetails> {
    let mut found = None;
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if name != "format" {
            return Err(ProblemDetails::bad_request(
                "The query has an unknown parameter. There is only `format`.",
            ));
        }
        let known = FORMATS.into_iter().find(|(known, _)| *known == value).map(|(_, format)| format);
        let Some(known) = known else {
            let names = FORMATS.map(|(name, _)| name).join(", ");
            return Err(ProblemDetails::bad_request(format!(
                "This format is unknown. Use one of these: {names}."
            )));
        };
        if found.replace(known).is_some() {
            return Err(ProblemDetails::bad_request(
                "The query has `format` more than once. Name one format.",
            ));
        }
    }
    Ok(found)
}

/// A query that has to be empty.
pub(crate) fn none(query: Option<&str>) -> Result<(), ProblemDetails> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => Err(ProblemDetails::bad_request("This address takes no query. Leave it out.")),
    }
}

/// How long the client wants to wait at most (`Prefer: wait=SECONDS`). As with all preferences, one that can't be read is
/// none.
pub(crate) fn wait_limit(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(PREFER).iter().filter_map(|line| line.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split(','));
    preferences.find_map(|preference| {
        let (name, value) = preference.split(';').next()?.split_once('=')?;
        let seconds = value.trim().trim_matches('"').parse().ok();
        seconds.filter(|_| name.trim().eq_ignore_ascii_case("wait")).map(Duration::from_secs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_known_formats_once() {
        for (query, expected) in [
            (None, Some(None)),
            (Some(""), Some(None)),
            (Some("format=openai"), Some(Some(ToolFormat::OpenAiChat))),
            (Some("format=openai%2Dresponses"), Some(Some(ToolFormat::OpenAiResponses))),
            (Some("format=gemini&"), Some(Some(ToolFormat::Gemini))),
            (Some("format="), None),
            (Some("format"), None),
            (Some("format=OpenAI"), None),
            (Some("fromat=openai"), None),
            (Some("format=openai&format=openai"), None),
            (Some("format=openai&x"), None),
        ] {
            assert_eq!(format(query).ok(), expected, "{query:?}");
        }
        for (name, known) in FORMATS {
            assert_eq!(format(Some(&format!("format={name}"))).unwrap(), Some(known));
            assert_eq!(format_name(known), name);
        }
    }

    #[test]
    fn reads_preferred_wait() {
        for (lines, expected) in [
            (&["wait=5"][..], Some(5)),
            (&["respond-async, Wait = \"7\"; x=1"], Some(7)),
            (&["handling=lenient", "wait=0"], Some(0)),
            (&["wait"], None),
            (&["wait=-1"], None),
            (&["wait=soon, x=wait"], None),
            (&["x; wait=3"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, line.parse().unwrap());
            }
            assert_eq!(wait_limit(&headers), expected.map(Duration::from_secs), "{lines:?}");
        }
    }
}
