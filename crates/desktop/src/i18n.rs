//! The shell's own texts (the tray and a title), rendered from the catalogs that all parts share.

use gatehouse_common::messages;
use gatehouse_model::Message;

use crate::preferences::LanguagePreference;

/// The language of the shell's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locale(messages::Language);

impl Locale {
    #[cfg(test)]
    pub(crate) const ENGLISH: Self = Self(messages::Language::English);
    #[cfg(test)]
    pub(crate) const SIMPLIFIED_CHINESE: Self = Self(messages::Language::SimplifiedChinese);

    /// The language of the user's preference.
    pub(crate) fn from_preference(language: LanguagePreference) -> Self {
        Self(match language {
            LanguagePreference::English => messages::Language::English,
            LanguagePreference::SimplifiedChinese => messages::Language::SimplifiedChinese,
            LanguagePreference::System => messages::Language::of_environment(|name| std::env::var(name).ok()),
        })
    }

    /// Title of the prompt window.
    pub(crate) fn prompt_title(self) -> String {
        self.text("shell.prompt")
    }

    /// The text of a key without parameters.
    pub(crate) fn text(self, key: &str) -> String {
        self.render(&Message::new(key))
    }

    /// The text of a message. No text of the shell has a time in it.
    pub(crate) fn render(self, message: &Message) -> String {
        messages::render(message, self.0, &|_| String::new())
    }
}
