//! Errors of OAuth, as programs read them.

use std::borrow::Cow;

use gatehouse_model::UserError;

/// An error code of OAuth with a description for developers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) code: &'static str,
    pub(crate) description: Cow<'static, str>,
}

impl OAuthError {
    pub(crate) fn new(code: &'static str, description: impl Into<Cow<'static, str>>) -> Self {
        Self { code, description: description.into() }
    }

    pub(crate) fn invalid_request(description: impl Into<Cow<'static, str>>) -> Self {
        Self::new("invalid_request", description)
    }

    /// The code, refresh token or verifier isn't valid for this client.
    pub(crate) fn invalid_grant(description: impl Into<Cow<'static, str>>) -> Self {
        Self::new("invalid_grant", description)
    }

    /// The resource isn't one of this gateway, or isn't the one that access was allowed for.
    pub(crate) fn invalid_target() -> Self {
        Self::new("invalid_target", "The resource is not the endpoint that access is asked for.")
    }

    pub(crate) fn access_denied() -> Self {
        Self::new("access_denied", "The user did not allow access.")
    }

    /// The list of clients or the tokens can't be written now. The cause is for the log, not for the client.
    pub(crate) fn not_stored(error: &UserError) -> Self {
        tracing::error!(%error, "the access of an OAuth client could not be stored");
        Self::new("server_error", "Gatehouse could not store the access. Its log says why.")
    }
}
