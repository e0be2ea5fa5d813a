//! Capabilities about tasks, which are declared only where client and server have the same kind of tasks
//! (`protocol/initialize.rs`): those of 2025-11-25, or the extension of the newest revision.

use std::borrow::Cow;

use gatehouse_mcp_wire::raw::{Members, object, place, raw, splice};
use gatehouse_mcp_wire::tasks::TASKS_EXTENSION;
use serde_json::value::RawValue;

const TASKS: &str = "tasks";
const EXTENSIONS: &str = "extensions";

/// Capabilities of a server without the tasks of 2025-11-25. Every other byte stays.
pub(crate) fn without_tasks(capabilities: &RawValue) -> Cow<'_, RawValue> {
    let Ok(members) = Members::of(capabilities) else { return Cow::Owned(raw("{}".to_owned())) };
    if members.get(TASKS).is_none() {
        return Cow::Borrowed(capabilities);
    }
    Cow::Owned(raw(object(members.iter().filter(|(name, _)| *name != TASKS))))
}

/// Capabilities of a server without the extension for tasks. Every other byte stays.
pub(crate) fn without_tasks_extension(capabilities: &RawValue) -> Cow<'_, RawValue> {
    let Ok(members) = Members::of(capabilities) else { return Cow::Owned(raw("{}".to_owned())) };
    let extensions = members.get(EXTENSIONS).and_then(|raw| Some((raw, Members::of(raw).ok()?)));
    let Some((whole, extensions)) = extensions.filter(|(_, known)| known.get(TASKS_EXTENSION).is_some())
    else {
        return Cow::Borrowed(capabilities);
    };
    let rest = object(extensions.iter().filter(|(name, _)| *name != TASKS_EXTENSION));
    let text = capabilities.get();
    Cow::Owned(raw(splice(text, vec![(place(text, whole.get()), rest)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_what_is_about_tasks() {
        for (declared, kept) in [
            (r#"{ "tools" : {} }"#, r#"{ "tools" : {} }"#),
            (r#"{ "tools" : {"x":1.0}, "tasks":{"list":{}}}"#, r#"{"tools":{"x":1.0}}"#),
            (
                r#"{ "extensions" : {"a/b":{"n":1e3},"io.modelcontextprotocol/tasks":{}} }"#,
                r#"{ "extensions" : {"a/b":{"n":1e3}} }"#,
            ),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"tasks":{},"roots":{}}"#,
                r#"{"extensions":{},"roots":{}}"#,
            ),
            (r#"{"extensions":{"a/b":{}}}"#, r#"{"extensions":{"a/b":{}}}"#),
            ("[]", "{}"),
        ] {
            let declared = raw(declared.to_owned());
            assert_eq!(without_tasks(&without_tasks_extension(&declared)).get(), kept, "{declared}");
        }
    }
}
