//! Errors of the sign-in. Their texts never contain tokens, codes or secrets.

use std::error::Error;
use std::fmt;

use gatehouse_model::{ErrorCode, UserError, UserText, message};

/// Errors of the sign-in. `Display` is English.
#[derive(Debug)]
pub enum AuthError {
    /// The secret store is locked or doesn't answer.
    Secrets(gatehouse_store::SecretError),
    /// A stored value can't be parsed.
    Unreadable,
    /// The authorization server can't be reached at the moment; stored state is kept. Why: a sentence.
    Unreachable(UserText),
    /// The authorization server refused, or its response can't be used.
    Refused(UserError),
    /// The operation was aborted, for example at shutdown.
    Aborted,
}

impl AuthError {
    fn text(&self) -> UserText {
        match self {
            Self::Secrets(error) => error.to_string().into(),
            Self::Unreadable => message!("error.auth.unreadable").into(),
            Self::Unreachable(reason) => message!("error.auth.unreachable", reason = reason.clone()).into(),
            Self::Refused(error) => sentences(error.clone()),
            Self::Aborted => message!("error.auth.aborted").into(),
        }
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

impl Error for AuthError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Secrets(error) => error.source(),
            Self::Unreadable | Self::Unreachable(_) | Self::Refused(_) | Self::Aborted => None,
        }
    }
}

impl From<gatehouse_store::SecretError> for AuthError {
    fn from(error: gatehouse_store::SecretError) -> Self {
        Self::Secrets(error)
    }
}

impl From<AuthError> for UserError {
    fn from(error: AuthError) -> Self {
        let message = error.text();
        match error {
            AuthError::Secrets(inner) => inner.into(),
            AuthError::Unreadable => Self::new(ErrorCode::SecretsUnavailable, message),
            AuthError::Unreachable(_) => {
                Self::new(ErrorCode::ServerUnavailable, message).with_hint(message!("error.auth.networkHint"))
            }
            AuthError::Refused(error) => error,
            AuthError::Aborted => Self::new(ErrorCode::Internal, message),
        }
    }
}

/// All sentences of an error as one text.
pub(crate) fn sentences(error: UserError) -> UserText {
    [error.cause, error.hint]
        .into_iter()
        .flatten()
        .fold(error.message, |text, next| message!("error.auth.sentences", text = text, next = next).into())
}

/// An error for something unusable, described in a sentence.
pub(crate) fn unusable(cause: impl Into<UserText>) -> AuthError {
    AuthError::Refused(UserError::new(ErrorCode::Refused, message!("error.auth.failed")).with_cause(cause))
}
