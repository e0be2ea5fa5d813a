//! How a client identifies itself (`clientInfo`), as text for people.
//!
//! The client chooses this text, so it is shown and never used to decide.

use gatehouse_common::invisible_chars::one_line;
use gatehouse_mcp_wire::raw::{Members, text_of};
use serde_json::value::RawValue;

/// Maximum length of the text, in characters.
const MAX_CHARS: usize = 120;

/// Name and version in a client's `clientInfo`, as one short line of text.
pub(crate) fn display_text(info: &RawValue) -> Option<String> {
    let members = Members::of(info).ok()?;
    let name = text_of(members.get("name")?)?;
    let version = members.text("version").unwrap_or_default();
    let text = one_line(&format!("{name} {version}"), MAX_CHARS);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_client_info_as_one_line() {
        for (info, expected) in [
            (r#"{"name":"claude-code","version":"2.1"}"#, Some("claude-code 2.1")),
            (r#"{"name":"x"}"#, Some("x")),
            (r#"{"name":"a\u202eb\nc\u200b","version":""}"#, Some("ab c")),
            (r#"{"name":""}"#, None),
            (r#"{"version":"1"}"#, None),
            ("7", None),
        ] {
            let raw = RawValue::from_string(info.to_owned()).unwrap();
            assert_eq!(display_text(&raw).as_deref(), expected, "{info}");
        }
    }
}
