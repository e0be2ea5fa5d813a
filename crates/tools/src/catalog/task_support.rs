//! Which tools run as tasks (TOOL-10): `execution.taskSupport` of 2025-11-25. A client gets it only where it and the
//! server have tasks; elsewhere the member is left out, and so is a tool that runs in no other way.

use gatehouse_mcp_wire::raw::{Members, object, place, raw, splice};
use serde_json::value::RawValue;

/// Why a tool is in no list.
pub(crate) const WITHOUT_TASKS: &str =
    "It runs only as a task, and its server doesn't offer tasks in the revision 2025-11-25.";
/// Why a tool isn't in all lists.
pub(crate) const FOR_SOME_CLIENTS: &str =
    "It runs only as a task, so only clients of the revision 2025-11-25 get it.";

const EXECUTION: &str = "execution";
const TASK_SUPPORT: &str = "taskSupport";

/// What a tool says about running as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskSupport {
    /// It says nothing.
    Unsaid,
    /// It may, or doesn't.
    Optional,
    /// It runs in no other way.
    Required,
}

impl TaskSupport {
    /// What a definition says.
    pub(crate) fn of(definition: &Members<'_>) -> Self {
        let execution = definition.get(EXECUTION).and_then(|execution| Members::of(execution).ok());
        let Some(execution) = execution.filter(|execution| execution.get(TASK_SUPPORT).is_some()) else {
            return Self::Unsaid;
        };
        match execution.text(TASK_SUPPORT).as_deref() {
            Some("required") => Self::Required,
            Some(_) | None => Self::Optional,
        }
    }
}

/// The definition without what it says about tasks. Every other byte stays.
pub(crate) fn without_task_support(definition: &RawValue) -> Box<RawValue> {
    let text = definition.get();
    let execution = Members::read(text).ok().and_then(|members| members.get(EXECUTION));
    let Some((execution, members)) = execution.and_then(|raw| Some((raw, Members::of(raw).ok()?))) else {
        return definition.to_owned();
    };
    let rest = object(members.iter().filter(|(name, _)| *name != TASK_SUPPORT));
    raw(splice(text, vec![(place(text, execution.get()), rest)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_removes_what_is_said_of_tasks() {
        for (definition, support, without) in [
            (r#"{"name":"a"}"#, TaskSupport::Unsaid, r#"{"name":"a"}"#),
            (
                r#"{"name":"a","execution":{"x":1.0}}"#,
                TaskSupport::Unsaid,
                r#"{"name":"a","execution":{"x":1.0}}"#,
            ),
            (
                r#"{ "execution" : {"taskSupport":"optional"} ,"name":"a"}"#,
                TaskSupport::Optional,
                r#"{ "execution" : {} ,"name":"a"}"#,
            ),
            (
                r#"{"execution":{"x":1.0,"taskSupport":"forbidden"}}"#,
                TaskSupport::Optional,
                r#"{"execution":{"x":1.0}}"#,
            ),
            (r#"{"execution":{"taskSupport":"required"}}"#, TaskSupport::Required, r#"{"execution":{}}"#),
            (r#"{"execution":{"taskSupport":7}}"#, TaskSupport::Optional, r#"{"execution":{}}"#),
            (r#"{"execution":"odd"}"#, TaskSupport::Unsaid, r#"{"execution":"odd"}"#),
        ] {
            let definition = raw(definition.to_owned());
            assert_eq!(TaskSupport::of(&Members::of(&definition).unwrap()), support, "{definition}");
            assert_eq!(without_task_support(&definition).get(), without, "{definition}");
        }
    }
}
