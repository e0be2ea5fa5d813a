//! Tasks of 2025-11-25, and of the extension of 2026-07-28: where their ids stand in messages, and their states. Whoever
//! stands between a client and a server replaces an id in a message without changing any other byte of it.

use serde_json::value::RawValue;

use crate::raw::{Members, place, quoted, raw, splice, text_of};

/// A place of a task's id, as the names of the members that lead to it.
pub type TaskIdPlace = &'static [&'static str];

/// In the result of a call that became a task.
pub const CREATED_TASK: TaskIdPlace = &["task", "taskId"];
/// In a task by itself: the results of `tasks/get` and `tasks/cancel`, and `notifications/tasks/status`; in the extension
/// also the result of a call that became a task.
pub const TASK: TaskIdPlace = &["taskId"];
/// In everything else that belongs to a task: its result, its progress, and what its server asks and logs.
pub const RELATED_TASK: TaskIdPlace = &["_meta", "io.modelcontextprotocol/related-task", "taskId"];

/// The extension of 2026-07-28.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Whether capabilities, of a server or a client, name the extension.
#[must_use]
pub fn declares_extension(capabilities: &RawValue) -> bool {
    let declared = value_at(capabilities, &["extensions", TASKS_EXTENSION]);
    declared.is_some_and(|declared| declared.get().starts_with('{'))
}

/// Whether a result of 2026-07-28 says that the call became a task.
#[must_use]
pub fn is_task_result(result: &RawValue) -> bool {
    memchr::memmem::find(result.get().as_bytes(), b"\"task\"").is_some()
        && Members::of(result).is_ok_and(|members| members.text("resultType").as_deref() == Some("task"))
}

/// The id of a task at a place of an object; `None` if there is no text.
#[must_use]
pub fn task_id(object: &RawValue, at: TaskIdPlace) -> Option<String> {
    text_of(value_at(object, at)?).map(Into::into)
}

/// The object with another id at a place; `None` if there is no text there.
#[must_use]
pub fn with_task_id(object: &RawValue, at: TaskIdPlace, id: &str) -> Option<Box<RawValue>> {
    let known = value_at(object, at)?;
    text_of(known)?;
    let text = object.get();
    Some(raw(splice(text, vec![(place(text, known.get()), quoted(id))])))
}

fn value_at(object: &RawValue, at: TaskIdPlace) -> Option<&RawValue> {
    let mut value = object;
    for name in at {
        value = Members::of(value).ok()?.get(name)?;
    }
    Some(value)
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It works, or waits for input.
    Open,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    /// The state of a task, given as an object. What isn't known isn't the last one.
    #[must_use]
    pub fn of(task: &RawValue) -> Self {
        let status = Members::of(task).ok().and_then(|members| members.text("status"));
        match status.as_deref() {
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed,
            Some("cancelled") => Self::Cancelled,
            Some(_) | None => Self::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_nothing_but_the_id() {
        for (object, at, replaced) in [
            (
                r#"{ "task" : {"ttl":1.0,"taskId":"a\u0062" ,"x":null} }"#,
                CREATED_TASK,
                Some(r#"{ "task" : {"ttl":1.0,"taskId":"n" ,"x":null} }"#),
            ),
            (r#"{"status":"working","taskId":"ab"}"#, TASK, Some(r#"{"status":"working","taskId":"n"}"#)),
            (
                r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"ab"},"n":1e3}}"#,
                RELATED_TASK,
                Some(
                    r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"n"},"n":1e3}}"#,
                ),
            ),
            (r#"{"task":{"taskId":7}}"#, CREATED_TASK, None),
            (r#"{"task":{"taskId":"a","taskId":"b"}}"#, CREATED_TASK, None),
            (r#"{"content":[]}"#, RELATED_TASK, None),
            ("[]", TASK, None),
        ] {
            let object = raw(object.to_owned());
            let found = with_task_id(&object, at, "n");
            assert_eq!(found.as_deref().map(RawValue::get), replaced, "{object}");
            assert_eq!(task_id(&object, at), replaced.map(|_| "ab".to_owned()), "{object}");
        }
    }

    #[test]
    fn reads_the_extension() {
        for (capabilities, is_declared) in [
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, true),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#, false),
            (r#"{"extensions":{},"tasks":{}}"#, false),
            ("[]", false),
        ] {
            assert_eq!(declares_extension(&raw(capabilities.to_owned())), is_declared, "{capabilities}");
        }
        for (result, is_task) in [
            (r#"{"resultType":"task","taskId":"a"}"#, true),
            (r#"{"resultType":"complete","content":[{"type":"task"}]}"#, false),
            (r#"{"content":[{"resultType":"task"}]}"#, false),
        ] {
            assert_eq!(is_task_result(&raw(result.to_owned())), is_task, "{result}");
        }
    }

    #[test]
    fn reads_the_state() {
        for (task, status) in [
            (r#"{"status":"working"}"#, TaskStatus::Open),
            (r#"{"status":"input_required"}"#, TaskStatus::Open),
            (r#"{"status":"completed"}"#, TaskStatus::Completed),
            (r#"{"status":"failed"}"#, TaskStatus::Failed),
            (r#"{"status":"cancelled"}"#, TaskStatus::Cancelled),
            (r#"{"status":"later"}"#, TaskStatus::Open),
            ("{}", TaskStatus::Open),
        ] {
            assert_eq!(TaskStatus::of(&raw(task.to_owned())), status, "{task}");
        }
    }
}
