//! Texts for people: messages of the core, which are rendered in the reader's language, and texts of others, such as
//! a server's or the operating system's, which are shown as they came.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::message::{Message, MessageParam};
use crate::messages::{self, Language};
use crate::time::Timestamp;

/// A text for people. On the wire a plain text is a string and a message an object.
///
/// `Display` is the English text, for logs and for what programs read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum UserText {
    /// The same in every language.
    Plain(String),
    /// Rendered from the catalog of the reader's language. Boxed, so that errors stay small.
    Message(Box<Message>),
}

impl UserText {
    /// The text in a language; `time` writes the moments in it.
    #[must_use]
    pub fn render(&self, language: Language, time: &dyn Fn(Timestamp) -> String) -> String {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Message(message) => messages::render(message, language, time),
        }
    }

    /// Changes what isn't from a catalog: a plain text, or the texts in the places of a message.
    #[must_use]
    pub fn map_texts(self, change: &dyn Fn(String) -> String) -> Self {
        match self {
            Self::Plain(text) => Self::Plain(change(text)),
            Self::Message(message) => message.map_texts(change).into(),
        }
    }
}

impl fmt::Display for UserText {
    /// Moments are written in milliseconds since 1970: the reader's time zone isn't known here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Message(message) => {
                f.write_str(&messages::render(message, Language::English, &|at| at.0.to_string()))
            }
        }
    }
}

impl From<Message> for UserText {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}

impl From<String> for UserText {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<&String> for UserText {
    fn from(text: &String) -> Self {
        Self::Plain(text.clone())
    }
}

impl From<&str> for UserText {
    fn from(text: &str) -> Self {
        Self::Plain(text.to_owned())
    }
}

impl From<Cow<'_, str>> for UserText {
    fn from(text: Cow<'_, str>) -> Self {
        Self::Plain(text.into_owned())
    }
}

impl From<UserText> for MessageParam {
    fn from(text: UserText) -> Self {
        match text {
            UserText::Plain(text) => Self::Text(text),
            UserText::Message(message) => Self::Message(*message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_is_a_string_on_the_wire() {
        let plain = UserText::from("No such file.");
        let message = UserText::from(Message::new("shell.paused"));
        for (text, json) in
            [(&plain, r#""No such file.""#), (&message, r#"{"key":"shell.paused","params":{}}"#)]
        {
            assert_eq!(serde_json::to_string(text).unwrap(), json);
            assert_eq!(&serde_json::from_str::<UserText>(json).unwrap(), text);
        }
        assert_eq!(
            (plain.to_string(), message.to_string()),
            ("No such file.".to_owned(), "Everything is paused".to_owned())
        );
        assert_eq!(
            message.render(Language::SimplifiedChinese, &|_| String::new()),
            messages::Language::SimplifiedChinese.catalog()["shell.paused"]
        );
    }
}
