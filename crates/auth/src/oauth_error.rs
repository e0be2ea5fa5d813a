//! Errors that an authorization server reports, and how they are described. Texts of the other side are shown
//! only in one line of limited length.

use gatehouse_model::{ErrorCode, UserError, message};

use crate::error::AuthError;

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
        message: String,
    },
    /// The server can't be reached at the moment.
    #[error("{0}")]
    Unreachable(String),
    /// The response is invalid, or the settings can't be used.
    #[error("{0}")]
    Unusable(String),
}

impl GrantError {
    /// Whether the server refuses the client itself.
    pub(crate) fn is_about_client(&self) -> bool {
        matches!(self, Self::Denied { code, .. } if code == "invalid_client" || code == "unauthorized_client")
    }
}

impl From<GrantError> for AuthError {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Unreachable(cause) => Self::Unreachable(cause),
            GrantError::Denied { .. } | GrantError::Unusable(_) => Self::Refused(
                UserError::new(ErrorCode::Refused, message!("error.auth.failed"))
                    .with_cause(error.to_string()),
            ),
        }
    }
}

/// Describes an OAuth error code (RFC 6749 and extensions). Unknown codes are quoted.
pub(crate) fn describe_error_code(code: &str) -> String {
    match code {
        "access_denied" => "access was not granted".to_owned(),
        "invalid_client" => "it does not know this client, or its secret is wrong".to_owned(),
        "invalid_grant" => "what was granted before is not valid any more".to_owned(),
        "invalid_request" => "the request is not as it wants it".to_owned(),
        "invalid_scope" => "a scope is unknown there, or not for this user".to_owned(),
        "invalid_target" => "it gives no tokens for this server".to_owned(),
        "unauthorized_client" => "this client may not sign in this way".to_owned(),
        "unsupported_grant_type" => "it does not offer this way to sign in".to_owned(),
        "server_error" | "temporarily_unavailable" => "it has trouble of its own; try again later".to_owned(),
        other => format!("“{other}”"),
    }
}
