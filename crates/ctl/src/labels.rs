//! What several commands say in the same words.

use gatehouse_model::approval::Subject;
use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason};

use crate::terminal_text;

/// The subject of an approval request, in words.
pub(crate) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Tool { name } => terminal_text::line(name),
        Subject::Resource { uri } => format!("the resource {}", terminal_text::line(uri)),
        Subject::Prompt { name } => format!("the prompt {}", terminal_text::line(name)),
        Subject::Completion { reference } => format!("completions for {}", terminal_text::line(reference)),
    }
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
        ClassReason::Override => "you said so".to_owned(),
        ClassReason::Annotation { hint } => format!("its annotation {} says so", terminal_text::line(hint)),
        ClassReason::Name { word } => format!("its name says “{}”", terminal_text::line(word)),
        ClassReason::Description { word } => format!("its description says “{}”", terminal_text::line(word)),
        ClassReason::TrustedLabel => "its read-only label, which you trust, and its name agree".to_owned(),
        ClassReason::NotATool => "it only gives something to read".to_owned(),
        ClassReason::Default => "nothing says otherwise".to_owned(),
    };
    let outside = if class.reaches_outside { "; it reaches outside" } else { "" };
    format!("{} ({reason}{outside})", class_word(class.class))
}
