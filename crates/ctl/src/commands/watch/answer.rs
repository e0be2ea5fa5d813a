//! Parses what the user typed into an answer. An answer matches the approval request as it was shown: it
//! repeats its hash, and it selects only choices that the request offers.

use gatehouse_model::approval::{
    ApprovalAnswer, ApprovalRequest, CallApprovalRequest, ChoiceLifetime, ChoiceScope, ElicitationMode,
    GrantChoice,
};
use gatehouse_model::{Message, OfferedChoice, PendingApproval, SubmittedAnswer, message};
use serde_json::{Value, json};

use super::pending_approvals;

/// The possible answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerCommand {
    /// Allow once.
    Allow,
    /// Deny, with a reason for the model.
    Deny(Option<String>),
    /// Accept with this content, as JSON text.
    Accept(String),
    /// Allow with this lifetime and scope.
    Wider(ChoiceLifetime, ChoiceScope),
}

/// The words for wider answers.
const WIDER: [(&str, ChoiceLifetime, ChoiceScope); 5] = [
    ("always-reads", ChoiceLifetime::Always, ChoiceScope::Reads),
    ("always-tool", ChoiceLifetime::Always, ChoiceScope::Tool),
    ("tool-until-quit", ChoiceLifetime::UntilQuit, ChoiceScope::Tool),
    ("tool-15m", ChoiceLifetime::QuarterHour, ChoiceScope::Tool),
    ("always-server", ChoiceLifetime::Always, ChoiceScope::Server),
];

impl AnswerCommand {
    /// Parses a word and the text after it.
    pub(crate) fn read(word: &str, rest: &str) -> Result<Self, Message> {
        let rest = rest.trim();
        if word == "deny" {
            return Ok(Self::Deny(if rest.is_empty() { None } else { Some(rest.to_owned()) }));
        }
        if word == "accept" && !rest.is_empty() {
            return Ok(Self::Accept(rest.to_owned()));
        }
        let found = if word == "allow" {
            Some(Self::Allow)
        } else {
            WIDER
                .iter()
                .find(|(known, ..)| *known == word)
                .map(|(_, lifetime, width)| Self::Wider(*lifetime, *width))
        };
        match found {
            Some(word) if rest.is_empty() => Ok(word),
            Some(_) => Err(message!("error.ctl.nothingFollows", word = word)),
            None => Err(message!(
                "error.ctl.notAnAnswer",
                word = crate::terminal_text::truncate(word, 40),
                others = names(),
            )),
        }
    }
}

fn names() -> String {
    WIDER.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// The words that an approval request offers beside `allow` and `deny`.
pub(crate) fn wider_words(pending: &PendingApproval) -> Vec<&'static str> {
    let ApprovalRequest::Call(call) = &pending.request else { return Vec::new() };
    let offered =
        |(_, lifetime, width): &&(&str, ChoiceLifetime, ChoiceScope)| find(call, *lifetime, *width).is_some();
    WIDER.iter().filter(offered).map(|(name, ..)| *name).collect()
}

/// The answer that a word means for an approval request.
pub(crate) fn answer(pending: &PendingApproval, word: &AnswerCommand) -> Result<SubmittedAnswer, Message> {
    let answer = match (&pending.request, word) {
        (ApprovalRequest::Call(call), AnswerCommand::Allow | AnswerCommand::Wider(..))
            if call.arguments.is_none() =>
        {
            return Err(message!("error.ctl.argumentsUnread"));
        }
        (ApprovalRequest::Call(_), AnswerCommand::Allow) => {
            ApprovalAnswer::Allow { choice: GrantChoice::once() }
        }
        (ApprovalRequest::Call(_), AnswerCommand::Deny(reason)) => {
            ApprovalAnswer::Deny { choice: GrantChoice::once(), reason: reason.clone() }
        }
        (ApprovalRequest::Call(call), AnswerCommand::Wider(lifetime, width)) => {
            let choice =
                find(call, *lifetime, *width).ok_or_else(|| message!("error.tools.choiceNotOffered"))?;
            ApprovalAnswer::Allow { choice: choice.choice() }
        }
        // A form is sent with the default values of its fields; the core reports an error if they are
        // not sufficient.
        (ApprovalRequest::Elicitation(request), AnswerCommand::Allow)
            if matches!(request.want, ElicitationMode::Form { .. }) =>
        {
            ApprovalAnswer::Accept { content: Some("{}".to_owned()) }
        }
        (ApprovalRequest::Elicitation(request), AnswerCommand::Accept(content))
            if matches!(request.want, ElicitationMode::Form { .. }) =>
        {
            ApprovalAnswer::Accept { content: Some(content.clone()) }
        }
        (ApprovalRequest::Sampling(_), AnswerCommand::Allow) => {
            return Err(message!("error.ctl.replyNeeded"));
        }
        (ApprovalRequest::Sampling(_), AnswerCommand::Accept(content)) => {
            let message = match serde_json::from_str::<Value>(content) {
                Ok(Value::String(reply)) if !reply.trim().is_empty() => model_reply(&reply),
                // What a model wrote; the core checks that it is a message.
                Ok(Value::Object(_)) => content.clone(),
                Ok(_) | Err(_) => return Err(message!("error.ctl.replyNoText")),
            };
            ApprovalAnswer::Accept { content: Some(message) }
        }
        (_, AnswerCommand::Accept(_)) => return Err(message!("error.ctl.noContent")),
        (_, AnswerCommand::Allow) => ApprovalAnswer::Accept { content: None },
        (_, AnswerCommand::Deny(_)) => ApprovalAnswer::Decline,
        (_, AnswerCommand::Wider(..)) => {
            return Err(message!("error.ctl.allowOrDeny"));
        }
    };
    Ok(SubmittedAnswer { id: pending.id.clone(), hash: pending_approvals::hash(pending).cloned(), answer })
}

/// What a person writes in a model's place, as a result of `sampling/createMessage`.
fn model_reply(text: &str) -> String {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": "user", "stopReason": "endTurn" }).to_string()
}

/// The offered choice with this lifetime and scope; one for this client is preferred to one for every
/// client.
fn find(call: &CallApprovalRequest, lifetime: ChoiceLifetime, width: ChoiceScope) -> Option<&OfferedChoice> {
    let fits = |choice: &&OfferedChoice| choice.lifetime == lifetime && choice.width == width;
    let mut fitting = call.choices.iter().filter(fits);
    let first = fitting.next()?;
    Some(if first.every_client {
        fitting.find(|choice| !choice.every_client).unwrap_or(first)
    } else {
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval_list::tests::asked;

    #[test]
    fn a_call_whose_arguments_were_not_read_can_only_be_denied() {
        let (read, unread) = (asked("ask-1", Some("1"), false), asked("ask-1", None, true));
        assert!(answer(&read, &AnswerCommand::Allow).is_ok());
        for word in [AnswerCommand::Allow, AnswerCommand::Wider(ChoiceLifetime::Always, ChoiceScope::Tool)] {
            assert!(answer(&unread, &word).is_err(), "{word:?}");
        }
        assert!(answer(&unread, &AnswerCommand::Deny(None)).is_ok());
    }
}
