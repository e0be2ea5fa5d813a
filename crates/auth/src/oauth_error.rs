//! Errors that an authorization server reports, and how they are described. Texts of the other side are shown
//! only in one line of limited length.

use gatehouse_model::{Message, UserText, message};

use crate::error::{AuthError, unusable};

/// Maximum length of a displayed text of the other side, in characters.
pub(crate) const MAX_TEXT_CHARS: usize = 200;

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GrantError {
    /// The server returned an OAuth error.
    #[error("{message}")]
    Denied {
        /// The OAuth error code.
        code: String,
        /// The error as a sentence.
        message: UserText,
    },
    /// The server can't be reached at the moment.
    #[error("{0}")]
    Unreachable(UserText),
    /// The response is invalid, or the settings can't be used.
    #[error("{0}")]
    Unusable(UserText),
}

impl GrantError {
    /// What happened: a sentence.
    pub(crate) fn into_text(self) -> UserText {
        match self {
            Self::Denied { message: text, .. } | Self::Unreachable(text) | Self::Unusable(text) => text,
        }
    }

    /// Whether the server refuses the client itself.
    pub(crate) fn is_about_client(&self) -> bool {
        matches!(self, Self::Denied { code, .. } if code == "invalid_client" || code == "unauthorized_client")
    }
}

impl From<GrantError> for AuthError {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Unreachable(cause) => Self::Unreachable(cause),
            GrantError::Denied { message: cause, .. } | GrantError::Unusable(cause) => unusable(cause),
        }
    }
}

/// Adds what the other side says about an error: a text that is safe to show, if there is one.
pub(crate) fn with_detail(message: Message, detail: Option<String>) -> UserText {
    match detail.filter(|detail| !detail.is_empty()) {
        Some(detail) => message!("error.auth.cause.saying", text = message, detail = detail).into(),
        None => message.into(),
    }
}

/// Describes an OAuth error code (RFC 6749 and extensions). Unknown codes are quoted.
pub(crate) fn describe_error_code(code: &str) -> Message {
    match code {
        "access_denied" => message!("error.auth.code.accessDenied"),
        "invalid_client" => message!("error.auth.code.invalidClient"),
        "invalid_grant" => message!("error.auth.code.invalidGrant"),
        "invalid_request" => message!("error.auth.code.invalidRequest"),
        "invalid_scope" => message!("error.auth.code.invalidScope"),
        "invalid_target" => message!("error.auth.code.invalidTarget"),
        "unauthorized_client" => message!("error.auth.code.unauthorizedClient"),
        "unsupported_grant_type" => message!("error.auth.code.unsupportedGrantType"),
        "server_error" | "temporarily_unavailable" => message!("error.auth.code.serverError"),
        other => message!("error.auth.code.unknown", code = other),
    }
}
