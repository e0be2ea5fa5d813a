//! Localisable texts of the core: the key of a template and its parameters. The templates are in the
//! catalogs (`locales/`), one for each language, so that the window and the command line show the same
//! text in the user's language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::time::Timestamp;

/// A text for people: the key of a template of the catalogs, and what stands in its places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Key of the template, as in `rule.allow.always`.
    pub key: String,
    /// What stands in each place of the template, by the place's name.
    pub params: BTreeMap<String, MessageParam>,
}

/// What stands in one place of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum MessageParam {
    /// A name, an address or a value: the same in every language.
    Text(String),
    /// A count, which templates can choose a plural form by.
    Number(u32),
    /// A moment; the reader's language decides how it is written.
    Time(Timestamp),
    /// Another message.
    Message(Message),
    /// Messages that all hold, joined by "and".
    List(Vec<Message>),
    /// Whole sentences, one after the other.
    Sentences(Vec<Message>),
}

impl Message {
    /// A message without parameters.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), params: BTreeMap::new() }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, place: &str, param: impl Into<MessageParam>) -> Self {
        self.params.insert(place.to_owned(), param.into());
        self
    }

    /// Changes the texts that stand in its places, also those of the messages in it.
    #[must_use]
    pub fn map_texts(self, change: &dyn Fn(String) -> String) -> Self {
        let params = self.params.into_iter().map(|(place, param)| (place, param.map_texts(change))).collect();
        Self { key: self.key, params }
    }
}

impl MessageParam {
    fn map_texts(self, change: &dyn Fn(String) -> String) -> Self {
        let each = |messages: Vec<Message>| -> Vec<Message> {
            messages.into_iter().map(|message| message.map_texts(change)).collect()
        };
        match self {
            Self::Text(text) => Self::Text(change(text)),
            Self::Message(message) => Self::Message(message.map_texts(change)),
            Self::List(messages) => Self::List(each(messages)),
            Self::Sentences(messages) => Self::Sentences(each(messages)),
            other @ (Self::Number(_) | Self::Time(_)) => other,
        }
    }
}

/// Makes a [`Message`] from a literal key and its parameters: the key, then `place = param` for each place of the
/// template. Tests read the sources for it and find each key, with these places, in every catalog.
#[macro_export]
macro_rules! message {
    ($key:literal $(, $place:ident = $param:expr)* $(,)?) => {
        $crate::message::Message::new($key)$(.with(stringify!($place), $param))*
    };
}

impl From<&str> for MessageParam {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for MessageParam {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for MessageParam {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for MessageParam {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

impl From<Timestamp> for MessageParam {
    fn from(at: Timestamp) -> Self {
        Self::Time(at)
    }
}

impl From<Message> for MessageParam {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl From<Vec<Message>> for MessageParam {
    fn from(messages: Vec<Message>) -> Self {
        Self::List(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_parameter_goes_over_the_wire() {
        let message = Message::new("a")
            .with("name", MessageParam::Text("files".to_owned()))
            .with("at", Timestamp(7))
            .with("count", 2_u32)
            .with("what", Message::new("b"))
            .with("when", vec![Message::new("c")])
            .with("why", MessageParam::Sentences(vec![Message::new("d")]));
        let text = r#"{"key":"a","params":{"at":{"time":7},"count":{"number":2},"name":{"text":"files"},"what":{"message":{"key":"b","params":{}}},"when":{"list":[{"key":"c","params":{}}]},"why":{"sentences":[{"key":"d","params":{}}]}}}"#;
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
        assert_eq!(serde_json::from_str::<Message>(text).unwrap(), message);
    }

    #[test]
    fn each_text_in_a_message_is_changed() {
        let message = |text: &str| {
            let inner = Message::new("b").with("reason", text);
            Message::new("a")
                .with("name", text)
                .with("count", 2_u32)
                .with("what", inner.clone())
                .with("when", vec![inner.clone()])
                .with("why", MessageParam::Sentences(vec![inner]))
        };
        assert_eq!(message("token").map_texts(&|text| text.replace("token", "…")), message("…"));
    }
}
