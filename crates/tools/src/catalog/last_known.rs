//! Marks what is listed of a server that isn't connected: it is what was last known of it, and may be another thing
//! once the server is there. Clients that don't know the mark ignore it. Nothing is decided by it.

use std::borrow::Cow;

use gatehouse_mcp_wire::raw::{Members, raw, splice};
use serde_json::value::RawValue;

use crate::result_meta;

/// The member of `_meta` in the definition of a tool, resource, resource template or prompt.
const LAST_KNOWN: &str = "app.gatehouse/lastKnown";

/// The definition with the mark. All other bytes stay. Unchanged if its `_meta` isn't an object.
pub(crate) fn with_mark(definition: &RawValue) -> Cow<'_, RawValue> {
    let text = definition.get();
    let Ok(members) = Members::read(text) else { return Cow::Borrowed(definition) };
    let mark = format!(r#""{LAST_KNOWN}":true"#);
    match result_meta::member_edit(text, &members, &mark) {
        Some(edit) => Cow::Owned(raw(splice(text, vec![edit]))),
        None => Cow::Borrowed(definition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_definition_and_keeps_other_bytes() {
        for (before, after) in [
            (
                r#"{ "name":"a","n":1.00}"#,
                r#"{"_meta":{"app.gatehouse/lastKnown":true}, "name":"a","n":1.00}"#,
            ),
            (
                r#"{"name":"a", "_meta": {"k":1e3}}"#,
                r#"{"name":"a", "_meta": {"app.gatehouse/lastKnown":true,"k":1e3}}"#,
            ),
            (r#"{"name":"a","_meta":{}}"#, r#"{"name":"a","_meta":{"app.gatehouse/lastKnown":true}}"#),
            (r#"{"name":"a","_meta":7}"#, r#"{"name":"a","_meta":7}"#),
        ] {
            let definition = RawValue::from_string(before.to_owned()).unwrap();
            assert_eq!(with_mark(&definition).get(), after);
        }
    }
}
