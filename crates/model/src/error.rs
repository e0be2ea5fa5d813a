//! Errors for users and programs (UI-12): what happened, why, and what to do next.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What the UI and the command line switch on. A variant is added when somebody uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request itself is wrong.
    BadRequest,
    /// There is no such thing.
    NotFound,
    /// The name is taken.
    NameTaken,
    /// The caller may not do this here; the operator key or a window is needed.
    NotPermitted,
    /// The question is gone, was answered, or shows another call by now.
    StaleAnswer,
    /// Everything is paused.
    Paused,
    /// The server is not connected.
    ServerUnavailable,
    /// The authorization server leaves no way to register; a client id has to be entered.
    NeedsClientRegistration,
    /// The call was refused.
    Refused,
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
    /// It took too long.
    TimedOut,
    /// A fault of Gatehouse itself.
    Internal,
}

/// One error in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message}{}{}", .cause.as_ref().map(|w| format!(" {w}")).unwrap_or_default(), .hint.as_ref().map(|t| format!(" {t}")).unwrap_or_default())]
pub struct UserError {
    /// What to switch on.
    pub code: ErrorCode,
    /// What happened: one sentence.
    pub message: String,
    /// Why: one sentence.
    pub cause: Option<String>,
    /// What to do: one sentence.
    pub hint: Option<String>,
}

impl UserError {
    /// An error with its first sentence.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: None, hint: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
