//! The language of the shell's own texts (the tray and a title). The pages have their own catalogs.

use gatehouse_common::messages;

use crate::preferences::Language;

/// The texts of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locale {
    English,
    /// 简体中文
    SimplifiedChinese,
}

impl Locale {
    /// The texts for the user's preference.
    pub(crate) fn from_preference(language: Language) -> Self {
        match language {
            Language::English => Self::English,
            Language::SimplifiedChinese => Self::SimplifiedChinese,
            Language::System => match messages::Language::of_environment(|name| std::env::var(name).ok()) {
                messages::Language::English => Self::English,
                messages::Language::SimplifiedChinese => Self::SimplifiedChinese,
            },
        }
    }

    /// Title of the prompt window.
    pub(crate) fn prompt_title(self) -> &'static str {
        self.pick("Gatehouse asks", "Gatehouse 询问")
    }

    /// The text in this language.
    pub(crate) fn pick(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::SimplifiedChinese => chinese,
        }
    }
}
