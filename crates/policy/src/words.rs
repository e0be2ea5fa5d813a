//! Words.
use crate::access::ToolFacts;
use gatehouse_model::grant::{AccessClass, ClassReason, Classified};

pub(crate) fn thin(_: &ToolFacts<'_>, user: Option<AccessClass>, _: bool) -> Classified {
    Classified {
        class: user.unwrap_or(AccessClass::Write),
        reason: ClassReason::Default,
        reaches_outside: true,
    }
}
