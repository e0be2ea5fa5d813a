//! The languages of the texts, and which of them the environment selects.

/// Environment variables for the language; the first that is set counts.
const VARIABLES: [&str; 4] = ["LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG"];

/// A language with a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    /// 简体中文
    SimplifiedChinese,
}

impl Language {
    pub const ALL: [Self; 2] = [Self::English, Self::SimplifiedChinese];

    /// The language selected by environment variables: Chinese for any `zh`, else English.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = VARIABLES.iter().filter_map(|name| variable(name)).find(|value| !value.is_empty());
        if set.is_some_and(|value| value.starts_with("zh")) { Self::SimplifiedChinese } else { Self::English }
    }
}
