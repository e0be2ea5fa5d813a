//! Errors for users and programs (UI-12): what happened, why, and what to do next.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use ts_rs::TS;

use crate::message::Message;
use crate::messages::Language;
use crate::text::UserText;
use crate::time::Timestamp;

/// What the UI and the command line switch on. A variant is added when somebody uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ErrorCode {
    /// The request itself is wrong.
    BadRequest,
    /// There is no such thing.
    NotFound,
    NameTaken,
    /// The caller may not do this here; the operator key or a window is needed.
    NotPermitted,
    /// The approval request is gone, was answered, or shows another call by now.
    StaleAnswer,
    /// Everything is paused.
    Paused,
    /// The server is not connected.
    ServerUnavailable,
    /// The authorization server leaves no way to register; a client id has to be entered.
    NeedsClientRegistration,
    /// The call was refused.
    Refused,
    /// The user cancelled it.
    Cancelled,
    /// A settings file cannot be used as it is.
    BadConfig,
    /// The file was written by a newer version.
    NewerVersion,
    /// The data folder is in use by another Gatehouse.
    DataFolderInUse,
    /// The address is in use.
    PortInUse,
    /// No store for secrets, or it is locked.
    SecretsUnavailable,
    /// The disk or the database refused.
    Storage,
    /// Gatehouse is not running, or cannot be reached.
    NotRunning,
    /// A model's provider refused or failed.
    ModelFailed,
    /// It took too long.
    TimedOut,
    /// A fault of Gatehouse itself.
    Internal,
}

impl ErrorCode {
    /// What happened in general and what to do next, for readers of other languages than English.
    pub fn message(self) -> Message {
        Message::new(format!("error.{}", self.as_str()))
    }

    /// The code as it is on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One error in words. `Display` is English.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message}{}{}", next_sentence(.cause.as_ref()), next_sentence(.hint.as_ref()))]
pub struct UserError {
    /// What to switch on.
    pub code: ErrorCode,
    /// What happened: one sentence.
    pub message: UserText,
    /// Why: one sentence.
    pub cause: Option<UserText>,
    /// What to do: one sentence.
    pub hint: Option<UserText>,
}

/// For `Display`: a sentence in English after another one.
fn next_sentence(text: Option<&UserText>) -> String {
    text.map(|text| format!(" {text}")).unwrap_or_default()
}

impl UserError {
    /// An error with its first sentence.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<UserText>) -> Self {
        Self { code, message: message.into(), cause: None, hint: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<UserText>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<UserText>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// All sentences in a language. A plain message is a text of a program or an English one, so readers of other
    /// languages get the text of the code before it.
    #[must_use]
    pub fn render(&self, language: Language, time: &dyn Fn(Timestamp) -> String) -> String {
        let title = match (&self.message, language) {
            (UserText::Message(_), _) | (UserText::Plain(_), Language::English) => None,
            (UserText::Plain(_), _) => Some(UserText::from(self.code.message())),
        };
        let texts = title.iter().chain([&self.message]).chain(&self.cause).chain(&self.hint);
        texts.map(|text| text.render(language, time)).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// All codes, as their TypeScript type lists them.
    fn codes() -> Vec<ErrorCode> {
        let union = ErrorCode::inline(&ts_rs::Config::new());
        union.split(" | ").map(|code| serde_json::from_str(code).unwrap()).collect()
    }

    #[test]
    fn every_code_has_a_text_in_every_language() {
        let keys: BTreeSet<String> = codes().into_iter().map(|code| code.message().key).collect();
        for catalog in [
            include_str!("../../../locales/en/errors.json"),
            include_str!("../../../locales/zh-CN/errors.json"),
        ] {
            let texts: BTreeMap<String, String> = serde_json::from_str(catalog).unwrap();
            assert_eq!(texts.into_keys().collect::<BTreeSet<_>>(), keys);
        }
    }

    #[test]
    fn an_error_is_rendered_in_a_language() {
        let plain = UserError::new(ErrorCode::TimedOut, "No answer.").with_hint("Wait.");
        let said =
            UserError::new(ErrorCode::TimedOut, ErrorCode::NotRunning.message()).with_cause("ECONNREFUSED.");
        for (error, language, text) in [
            (&plain, Language::English, "No answer. Wait."),
            (&plain, Language::SimplifiedChinese, "用时过长。请重试。 No answer. Wait."),
            (
                &said,
                Language::English,
                "Gatehouse isn't running. Start Gatehouse and try again. ECONNREFUSED.",
            ),
            (&said, Language::SimplifiedChinese, "Gatehouse 未运行。请启动 Gatehouse 后重试。 ECONNREFUSED."),
        ] {
            assert_eq!(error.render(language, &|_| String::new()), text);
        }
        assert_eq!(said.to_string(), said.render(Language::English, &|_| String::new()));
    }

    #[test]
    fn a_code_has_the_same_name_on_the_wire() {
        for code in codes() {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
