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

    /// The language that a browser's `Accept-Language` prefers: Chinese only if it comes before English.
    #[must_use]
    pub fn of_accept_language(header: &str) -> Self {
        let mut best: Option<(f32, Self)> = None;
        for part in header.split(',') {
            let mut pieces = part.split(';').map(str::trim);
            let tag = pieces.next().unwrap_or_default().to_ascii_lowercase();
            let quality = pieces
                .find_map(|piece| piece.strip_prefix("q="))
                .map_or(Some(1.0), |quality| quality.parse::<f32>().ok());
            let language = match tag.split('-').next() {
                Some("zh") => Self::SimplifiedChinese,
                Some("en") => Self::English,
                _ => continue,
            };
            if let Some(quality) = quality.filter(|quality| *quality > 0.0)
                && best.is_none_or(|(most, _)| quality > most)
            {
                best = Some((quality, language));
            }
        }
        best.map_or(Self::English, |(_, language)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_language_from_accept_language() {
        for (header, chinese) in [
            ("", false),
            ("zh-CN,zh;q=0.9,en;q=0.8", true),
            ("en-US,en;q=0.9,zh-CN;q=0.8", false),
            ("de-DE,de;q=0.9,zh-TW;q=0.5", true),
            ("en;q=0.3, zh;q=0.4", true),
            ("zh;q=0, en;q=0.1", false),
            ("zh;q=x", false),
        ] {
            let language = Language::of_accept_language(header);
            assert_eq!(language == Language::SimplifiedChinese, chinese, "{header}");
        }
    }
}
