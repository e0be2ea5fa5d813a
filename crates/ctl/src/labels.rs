//! What several commands say in the same words.

use gatehouse_model::approval::Subject;
use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason};
use gatehouse_model::message;

use crate::terminal_text;

/// The subject of an approval request, in words.
pub(crate) fn subject(subject: &Subject) -> String {
    terminal_text::message(&match subject {
        Subject::Tool { name } => return terminal_text::line(name),
        Subject::Resource { uri } => message!("ctl.subject.resource", uri = uri),
        Subject::Prompt { name } => message!("ctl.subject.prompt", name = name),
        Subject::Completion { reference } => message!("ctl.subject.completion", name = reference),
        Subject::Request { method } => message!("ctl.subject.request", name = method),
    })
}

pub(crate) fn class_word(class: AccessClass) -> &'static str {
    match class {
        AccessClass::Read => "read",
        AccessClass::Write => "write",
    }
}

/// An access class with its reason, in words.
pub(crate) fn describe_class(class: &AccessClassification) -> String {
    let reason = match &class.reason {
        ClassReason::Override => message!("ctl.class.user"),
        ClassReason::Annotation { hint } => message!("ctl.class.annotation", name = hint),
        ClassReason::Name { word } => message!("ctl.class.name", word = word),
        ClassReason::Description { word } => message!("ctl.class.description", word = word),
        ClassReason::TrustedLabel => message!("ctl.class.trustedLabel"),
        ClassReason::UntrustedLabel => message!("ctl.class.untrustedLabel"),
        ClassReason::NotATool => message!("ctl.class.notATool"),
        ClassReason::Default => message!("ctl.class.default"),
    };
    let word = class_word(class.class);
    terminal_text::message(&if class.reaches_outside {
        message!("ctl.class.outside", class = word, reason = reason)
    } else {
        message!("ctl.class", class = word, reason = reason)
    })
}
