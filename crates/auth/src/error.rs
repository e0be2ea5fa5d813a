//! Errors of the sign-in. Their texts never contain tokens, codes or secrets.

use gatehouse_model::{ErrorCode, UserError, UserText, message};

/// Errors of the sign-in.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The secret store is locked or doesn't answer.
    #[error(transparent)]
    Secrets(#[from] gatehouse_store::SecretError),
    /// A stored value can't be parsed.
    #[error("The stored sign-in cannot be read; sign in again.")]
    Unreadable,
    /// The authorization server can't be reached at the moment; stored state is kept.
    #[error("The authorization server cannot be reached: {0}")]
    Unreachable(String),
    /// The authorization server refused, or its response can't be used.
    #[error("{0}")]
    Refused(UserError),
    /// The operation was aborted, for example at shutdown.
    #[error("The sign-in was cut off.")]
    Aborted,
}

impl From<AuthError> for UserError {
    fn from(error: AuthError) -> Self {
        let message = error.to_string();
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
pub(crate) fn unusable(cause: &str) -> AuthError {
    AuthError::Refused(UserError::new(ErrorCode::Refused, message!("error.auth.failed")).with_cause(cause))
}
