//! Parses what the user typed into an answer. An answer matches the approval request as it was shown: it
//! repeats its hash, and it selects only choices that the request offers.

use gatehouse_model::ask::{Answer, Ask, CallAsk, ChoiceLifetime, ChoiceWidth, GrantChoice};
use gatehouse_model::{AskAnswer, OfferedChoice, PendingAsk};

use super::board;

/// The possible answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Allow once.
    Allow,
    /// Deny, with a reason for the model.
    Deny(Option<String>),
    /// Allow with this lifetime and scope.
    Wider(ChoiceLifetime, ChoiceWidth),
}

/// The words for wider answers.
const WIDER: [(&str, ChoiceLifetime, ChoiceWidth); 5] = [
    ("always-reads", ChoiceLifetime::Always, ChoiceWidth::Reads),
    ("always-tool", ChoiceLifetime::Always, ChoiceWidth::Tool),
    ("tool-until-quit", ChoiceLifetime::UntilQuit, ChoiceWidth::Tool),
    ("tool-15m", ChoiceLifetime::QuarterHour, ChoiceWidth::Tool),
    ("always-server", ChoiceLifetime::Always, ChoiceWidth::Server),
];

impl Word {
    /// Parses a word and the text after it.
    pub(crate) fn read(word: &str, rest: &str) -> Result<Self, String> {
        let rest = rest.trim();
        if word == "deny" {
            return Ok(Self::Deny(if rest.is_empty() { None } else { Some(rest.to_owned()) }));
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
            Some(_) => Err(format!("Nothing can follow “{word}”.")),
            None => Err(format!(
                "“{}” is not an answer. Answers are allow, deny [REASON], {}.",
                crate::plain::cut(word, 40),
                names()
            )),
        }
    }
}

fn names() -> String {
    WIDER.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// The words that an approval request offers beside `allow` and `deny`.
pub(crate) fn wider_words(pending: &PendingAsk) -> Vec<&'static str> {
    let Ask::Call(call) = &pending.ask else { return Vec::new() };
    let offered =
        |(_, lifetime, width): &&(&str, ChoiceLifetime, ChoiceWidth)| find(call, *lifetime, *width).is_some();
    WIDER.iter().filter(offered).map(|(name, ..)| *name).collect()
}

/// The answer that a word means for an approval request.
pub(crate) fn answer(pending: &PendingAsk, word: &Word) -> Result<AskAnswer, String> {
    let answer = match (&pending.ask, word) {
        (Ask::Call(call), Word::Allow | Word::Wider(..)) if call.arguments.is_none() => {
            return Err("The arguments of this call were not read, so it can only be denied.".to_owned());
        }
        (Ask::Call(_), Word::Allow) => Answer::Allow { choice: GrantChoice::once() },
        (Ask::Call(_), Word::Deny(reason)) => {
            Answer::Deny { choice: GrantChoice::once(), reason: reason.clone() }
        }
        (Ask::Call(call), Word::Wider(lifetime, width)) => {
            let choice = find(call, *lifetime, *width).ok_or("This question does not offer that.")?;
            Answer::Allow { choice: choice.choice() }
        }
        // A form is sent with the default values of its fields; the core reports an error if they are
        // not sufficient.
        (Ask::Elicitation(_), Word::Allow) => Answer::Accept { content: Some("{}".to_owned()) },
        (Ask::Sampling(_), Word::Allow) => {
            return Err("A terminal cannot answer this with yes.".to_owned());
        }
        (_, Word::Allow) => Answer::Accept { content: None },
        (_, Word::Deny(_)) => Answer::Decline,
        (_, Word::Wider(..)) => {
            return Err("This question can only be answered with allow or deny.".to_owned());
        }
    };
    Ok(AskAnswer { id: pending.id.clone(), hash: board::hash(pending).cloned(), answer })
}

/// The offered choice with this lifetime and scope; one for this client is preferred to one for every
/// client.
fn find(call: &CallAsk, lifetime: ChoiceLifetime, width: ChoiceWidth) -> Option<&OfferedChoice> {
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
    use crate::questions::tests::asked;

    #[test]
    fn a_call_whose_arguments_were_not_read_can_only_be_denied() {
        let (read, unread) = (asked("ask-1", Some("1"), false), asked("ask-1", None, true));
        assert!(answer(&read, &Word::Allow).is_ok());
        for word in [Word::Allow, Word::Wider(ChoiceLifetime::Always, ChoiceWidth::Tool)] {
            assert!(answer(&unread, &word).is_err(), "{word:?}");
        }
        assert!(answer(&unread, &Word::Deny(None)).is_ok());
    }
}
