//! Sign-in to remote servers, as far as a connection needs it: where its bearer token comes from,
//! and whom to sign in with when it has none.
//!
//! A token is handed out only for the server, generation and resource that it was given for, and
//! only while it is valid. Nothing here opens a browser, and no token is ever logged.

mod challenge;
mod stored;

use gatehouse_model::{BoxFuture, Generation, Secret, ServerId};

pub use challenge::issuer_hint;
pub use stored::StoredTokens;

/// What a token is needed for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRequest {
    /// The server.
    pub server: ServerId,
    /// Its generation.
    pub generation: Generation,
    /// The resource: the server's address in canonical form.
    pub resource: String,
}

/// Where bearer tokens come from.
pub trait TokenSource: Send + Sync {
    /// A token that is valid now, or `None` when the user has to sign in.
    fn bearer<'a>(&'a self, ask: &'a TokenRequest) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;
}

/// Why there is no telling whether a token exists.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The store for secrets is locked or does not answer.
    #[error(transparent)]
    Secrets(#[from] gatehouse_store::SecretError),
    /// What is stored is not what was written.
    #[error("The stored sign-in cannot be read; sign in again.")]
    Unreadable,
    /// The work was cut off, as when Gatehouse shuts down.
    #[error("Reading the stored sign-in was cut off.")]
    CutOff,
}

impl From<AuthError> for gatehouse_model::Problem {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Secrets(inner) => inner.into(),
            AuthError::Unreadable => {
                Self::new(gatehouse_model::ErrorCode::SecretsUnavailable, AuthError::Unreadable.to_string())
            }
            AuthError::CutOff => {
                Self::new(gatehouse_model::ErrorCode::Internal, AuthError::CutOff.to_string())
            }
        }
    }
}
