//! What a person types into a request of a server before anything is sent: a form field by field, or a reply in a
//! model's place line by line; or what a model wrote, for the person to check.

use gatehouse_model::approval::{ApprovalRequest, ElicitationMode};
use gatehouse_model::{Message, PendingApproval, message};
use serde_json::{Map, Value};

use super::form::{ElicitationForm, shown};
use crate::terminal_text;

/// The line that ends a reply.
const END: &str = ".";

/// What was typed so far.
pub(super) enum ContentDialogue {
    Form {
        form: ElicitationForm,
        values: Map<String, Value>,
        at: usize,
    },
    Reply {
        lines: Vec<String>,
        has_ended: bool,
    },
    /// What a model wrote, whole.
    Draft {
        text: String,
        content: String,
    },
}

impl ContentDialogue {
    /// Starts the dialogue for a request that takes content; `None` for all others.
    pub(super) fn start(pending: &PendingApproval) -> Option<Result<Self, Message>> {
        match &pending.request {
            ApprovalRequest::Elicitation(elicitation) => match &elicitation.want {
                ElicitationMode::Form { schema } => Some(match ElicitationForm::read(schema) {
                    Some(form) => Ok(Self::Form { form, values: Map::new(), at: 0 }),
                    None => Err(message!("ctl.form.unusable")),
                }),
                ElicitationMode::Url { .. } => None,
            },
            ApprovalRequest::Sampling(_) => Some(Ok(Self::Reply { lines: Vec::new(), has_ended: false })),
            ApprovalRequest::Call(_)
            | ApprovalRequest::Client(_)
            | ApprovalRequest::Command(_)
            | ApprovalRequest::ConfigChange(_)
            | ApprovalRequest::StepUp(_) => None,
        }
    }

    /// Whether everything was typed, so that it can be confirmed.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Form { form, at, .. } => *at >= form.fields.len(),
            Self::Reply { has_ended, .. } => *has_ended,
            Self::Draft { .. } => true,
        }
    }

    /// What is asked for next.
    pub(super) fn prompt(&self) -> Vec<String> {
        match self {
            Self::Form { form, at, .. } => {
                let Some(field) = form.fields.get(*at) else { return Vec::new() };
                let of = message!(
                    "ctl.form.field",
                    number = (at + 1).to_string(),
                    count = form.fields.len().to_string()
                );
                std::iter::once(terminal_text::message(&of)).chain(field.lines()).collect()
            }
            Self::Reply { lines, .. } if lines.is_empty() => {
                vec![terminal_text::message(&message!("ctl.sampling.write"))]
            }
            Self::Reply { .. } | Self::Draft { .. } => Vec::new(),
        }
    }

    /// Takes a typed line.
    ///
    /// # Errors
    /// Why it is not taken; the same is asked for again.
    pub(super) fn enter(&mut self, line: &str) -> Result<(), Message> {
        match self {
            Self::Form { form, values, at } => {
                let Some(field) = form.fields.get(*at) else { return Ok(()) };
                if let Some(value) = field.value(line.trim())? {
                    values.insert(field.name.clone(), value);
                }
                *at += 1;
                Ok(())
            }
            Self::Reply { lines, has_ended } if line.trim() == END => {
                if lines.iter().all(|line| line.trim().is_empty()) {
                    lines.clear();
                    return Err(message!("ctl.form.needed"));
                }
                *has_ended = true;
                Ok(())
            }
            Self::Draft { .. } => Ok(()),
            Self::Reply { lines, .. } => {
                lines.push(line.trim_end_matches('\r').to_owned());
                Ok(())
            }
        }
    }

    /// What would be sent.
    pub(super) fn summary(&self) -> Vec<String> {
        match self {
            Self::Form { values, .. } if values.is_empty() => {
                vec![format!("  {}", terminal_text::message(&message!("ctl.form.nothing")))]
            }
            Self::Form { values, .. } => values
                .iter()
                .map(|(name, value)| {
                    format!("  {}: {}", terminal_text::line(name), terminal_text::line(&shown(value)))
                })
                .collect(),
            Self::Draft { text, .. } => {
                text.lines().map(|line| format!("  {}", terminal_text::line(line))).collect()
            }
            Self::Reply { lines, .. } => {
                lines.iter().map(|line| format!("  {}", terminal_text::line(line))).collect()
            }
        }
    }

    /// What is sent, as JSON text.
    pub(super) fn content(&self) -> String {
        match self {
            Self::Form { values, .. } => Value::Object(values.clone()).to_string(),
            Self::Draft { content, .. } => content.clone(),
            Self::Reply { lines, .. } => Value::from(lines.join("\n")).to_string(),
        }
    }
}
