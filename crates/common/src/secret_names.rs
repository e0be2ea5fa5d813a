//! Names that suggest that their value is a secret: of arguments and members, and of what is set for a server. One list
//! of words for both, so that what is masked in one place doesn't stand open in the other.
//!
//! Must never be all that protects a secret: a name says nothing certain about a value.

use crate::name_words;

/// Where a word has to stand in the name of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordPlace {
    /// Anywhere, also within a longer word.
    Anywhere,
    /// At the end, also as the end of a longer word.
    End,
    /// As a word of its own.
    Alone,
}

use WordPlace::{Alone, Anywhere, End};

/// Words that mark a value as secret. In the name of an argument they count as words of their own.
const WORDS: &[(&str, WordPlace)] = &[
    ("authorization", Alone),
    ("bearer", Alone),
    ("cookie", End),
    ("cookies", Alone),
    ("credential", End),
    ("credentials", End),
    ("jwt", Alone),
    ("otp", Alone),
    ("passcode", Alone),
    ("passphrase", Anywhere),
    ("passwd", Anywhere),
    ("password", Anywhere),
    ("passwords", Alone),
    ("pwd", Alone),
    ("secret", Anywhere),
    ("secrets", Alone),
    ("totp", Alone),
];

/// Words that mark the value of a setting as secret, and mean something else in the names of many arguments.
const SETTING_WORDS: &[(&str, WordPlace)] =
    &[("auth", Anywhere), ("key", End), ("pass", End), ("pat", End), ("token", Anywhere)];

/// Names of secrets that are written as one word or several; compared without separators.
const COMPOUNDS: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "idtoken",
    "privatekey",
    "refreshtoken",
    "secretkey",
    "sessiontoken",
    "signingkey",
];

/// Ends of names of settings that no secret has: they name a program that asks for it, or what is left out.
const HARMLESS_ENDS: [&str; 2] = ["askpass", "bypass"];

/// Whether the name of an argument, or of a member in one, marks its value as secret. A mask hides the value from the user
/// who decides, so words that often name something else, such as `key`, don't count.
#[must_use]
pub fn is_secret_argument(name: &str) -> bool {
    let words = name_words::split(name);
    let joined = words.concat();
    words.iter().any(|word| WORDS.iter().any(|(secret, _)| word == secret))
        || COMPOUNDS.iter().any(|secret| joined.contains(secret))
        || words.last().is_some_and(|word| word == "token") && !is_pagination_token(&words)
        || joined == "auth"
}

/// Whether a name with "token" is a pagination cursor or the like, such as `pageToken`. These aren't secrets.
fn is_pagination_token(words: &[String]) -> bool {
    words.iter().any(|word| {
        matches!(
            word.as_str(),
            "page" | "next" | "continuation" | "progress" | "cursor" | "sync" | "resume" | "max"
        )
    })
}

/// Whether the name of a variable, a header, a flag or an input of a server suggests that its value is a secret. Here one
/// that is missed costs more than one too many.
#[must_use]
pub fn is_secret_setting(name: &str) -> bool {
    let joined = name.to_ascii_lowercase().replace(['-', '_', '~'], "");
    // The working folder of a shell.
    let is_harmless = joined == "pwd" || HARMLESS_ENDS.iter().any(|end| joined.ends_with(end));
    let is_in_place = |(word, place): &(&str, WordPlace)| match place {
        Anywhere => joined.contains(word),
        End => joined.ends_with(word),
        Alone => false,
    };
    !is_harmless && (WORDS.iter().chain(SETTING_WORDS).any(is_in_place) || is_secret_argument(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn recognises_secret_arguments() {
        for name in [
            "password",
            "dbPassword",
            "API_KEY",
            "api-key",
            "apikey",
            "x-api-key",
            "token",
            "access_token",
            "authToken",
            "client_secret",
            "Authorization",
            "privateKey",
            "auth",
            "session_token",
            "cookie",
            "otp",
        ] {
            assert!(is_secret_argument(name), "{name}");
        }
        for name in [
            "max_tokens",
            "maxTokens",
            "tokens",
            "pageToken",
            "next_page_token",
            "key",
            "author",
            "secretary",
            "path",
            "tokenizer",
            "passage",
            "auth_type",
            "progressToken",
        ] {
            assert!(!is_secret_argument(name), "{name}");
        }
    }

    /// Has the names for the pages too, where a pasted text is read.
    #[test]
    fn recognises_secret_settings() {
        let names: BTreeMap<String, Vec<String>> =
            serde_json::from_str(include_str!("../../../ui/src/servers/secret-names.json")).unwrap();
        for (names, is_secret) in [(&names["secret"], true), (&names["plain"], false)] {
            for name in names {
                assert_eq!(is_secret_setting(name), is_secret, "{name}");
            }
        }
    }

    #[test]
    fn secret_arguments_are_secret_settings() {
        for (word, _) in WORDS.iter().filter(|(word, _)| *word != "pwd") {
            assert!(is_secret_argument(word) && is_secret_setting(word), "{word}");
        }
        for name in COMPOUNDS {
            assert!(is_secret_argument(name) && is_secret_setting(name), "{name}");
        }
    }
}
