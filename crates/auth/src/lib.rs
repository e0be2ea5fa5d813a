//! Sign-in to remote MCP servers with OAuth (AUTH-1 to AUTH-9): discovery, the browser flow, and tokens,
//! which are stored, renewed, upgraded with scopes and revoked. Connections only see the [`TokenSource`]
//! trait.
//!
//! A token is only handed out for the server, generation and resource that it was issued for. Tokens, codes,
//! verifiers and secrets are never logged and never part of an event or error. The browser is only opened if
//! the caller states that the user asked for it.

mod account;
mod address;
mod assertion;
mod authorization_url;
mod callback;
mod callback_page;
mod client_credentials;
mod client_identity;
mod discovery;
mod enterprise_auth;
mod http_client;
mod listener;
mod login;
mod metadata;
mod no_sign_in;
mod refresh;
mod registration;
mod renewal_lock;
mod session_state;
mod settings;
mod sign_ins;
mod sign_out;
mod step_up;
mod token_endpoint;
mod token_store;
mod unauthorized;
mod www_authenticate;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::{
    AuditLog, BoxFuture, Clock, ErrorCode, EventSink, OpenUrl, Secret, ServerConfig, UserError,
};
use gatehouse_store::SecretStore;

pub use no_sign_in::NoSignIn;
pub use sign_ins::SignIns;
pub use token_store::secret_keys;
pub use www_authenticate::issuer_hint;

/// Dependencies of the sign-in.
pub struct SignInDeps {
    /// Stores tokens, registrations and the secrets in the settings.
    pub secrets: Arc<dyn SecretStore>,
    pub clock: Arc<dyn Clock>,
    /// Receives an entry before a sign-in or sign-out takes effect (PERM-14).
    pub audit: Arc<dyn AuditLog>,
    pub events: Arc<dyn EventSink>,
    /// Opens the user's browser.
    pub open: Arc<dyn OpenUrl>,
    /// The data folder, which contains the lock files.
    pub data_dir: PathBuf,
}

/// Source of bearer tokens for connections.
pub trait TokenSource: Send + Sync {
    /// A token that is valid now, renewed ahead of its expiry; `None` if the user has to sign in.
    fn bearer<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;

    /// Handles a 401 response, or a 403 response for insufficient scope. May take as long as the user needs
    /// to answer a scope upgrade request and to sign in with the browser.
    fn recover<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> BoxFuture<'a, Result<AuthRecovery, AuthError>>;
}

/// A server's refusal of a request.
#[derive(Clone, Debug)]
pub struct AuthRejection {
    /// 401 or 403.
    pub status: u16,
    /// All values of `WWW-Authenticate`.
    pub challenges: Vec<String>,
    /// The token that was sent, if any.
    pub sent: Option<Secret>,
    /// Whether the request can wait for the user. If not, no scope upgrade request is made.
    pub can_wait: bool,
    /// Whether the token was already obtained through [`AuthRecovery::Retry`] for this request, so that renewing it
    /// once more wouldn't help.
    pub is_retry: bool,
}

/// What to do after a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthRecovery {
    /// Retry the request with this token.
    Retry(Secret),
    /// The user has to sign in.
    SignIn {
        /// The issuer to sign in with, if known.
        issuer: Option<String>,
    },
    /// The user has to enter a client id first.
    Register {
        /// A sentence for the user.
        reason: String,
    },
    /// The refusal is final.
    Refused {
        /// One or more sentences for the user.
        reason: String,
    },
}

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
        let what = error.to_string();
        match error {
            AuthError::Secrets(inner) => inner.into(),
            AuthError::Unreadable => Self::new(ErrorCode::SecretsUnavailable, what),
            AuthError::Unreachable(_) => {
                Self::new(ErrorCode::ServerUnavailable, what).with_hint("Check the network and try again.")
            }
            AuthError::Refused(problem) => problem,
            AuthError::Aborted => Self::new(ErrorCode::Internal, what),
        }
    }
}
