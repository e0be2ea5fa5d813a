//! Sign-in to remote servers (AUTH-1 to AUTH-9): whom to sign in with, the way through the user's
//! browser, and the tokens that come of it, kept, renewed, widened and given back.
//!
//! A token is handed out only for the server, generation and resource that it was given for. No
//! token, code, verifier or secret is ever logged, part of an event or of an error, and a browser is
//! opened only where the caller says that the user asked for it.

mod account;
mod address;
mod alone;
mod assertion;
mod begin;
mod browser;
mod callback;
mod challenge;
mod company;
mod discovery;
mod grant;
mod identity;
mod kept;
mod listener;
mod lock;
mod metadata;
mod none;
mod page;
mod refusal;
mod registration;
mod renew;
mod settings;
mod sign_ins;
mod sign_out;
mod slot;
mod step_up;
mod web;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::{
    AuditLog, BoxFuture, Clock, ErrorCode, EventSink, OpenUrl, Problem, Secret, ServerConfig,
};
use gatehouse_store::SecretStore;

pub use challenge::issuer_hint;
pub use kept::secret_keys;
pub use none::NoSignIn;
pub use sign_ins::SignIns;

/// What signing in needs from the outside.
pub struct SignInDeps {
    /// Keeps tokens, registrations and the secrets of the settings.
    pub secrets: Arc<dyn SecretStore>,
    /// Says when a token expires.
    pub clock: Arc<dyn Clock>,
    /// Gets an entry before a sign-in or sign-out takes effect (PERM-14).
    pub audit: Arc<dyn AuditLog>,
    /// Hears of each change.
    pub events: Arc<dyn EventSink>,
    /// Opens the user's browser.
    pub open: Arc<dyn OpenUrl>,
    /// Where lock files lie.
    pub data_dir: PathBuf,
}

/// Where bearer tokens come from, and what to do when one was refused.
pub trait TokenSource: Send + Sync {
    /// A token that is valid now, renewed ahead of its expiry; `None` when the user has to sign in.
    fn bearer<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthError>>;

    /// What to do about an answer 401, or 403 for want of a scope. May take as long as the user takes
    /// to answer a question and to go through the browser.
    fn refused<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, AuthError>>;
}

/// How a server refused a request.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// 401 or 403.
    pub status: u16,
    /// All values of `WWW-Authenticate`.
    pub challenges: Vec<String>,
    /// The token that was sent, if one was.
    pub sent: Option<Secret>,
    /// Whether the request can wait for the user; else nobody is asked for more rights.
    pub waits: bool,
    /// Whether the token was given for this very request, by [`Next::Again`]: renewing it once more
    /// would not help.
    pub once_more: bool,
}

/// What comes after a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send the request once more, with this token.
    Again(Secret),
    /// The user has to sign in.
    SignIn {
        /// With whom, where it is known.
        issuer: Option<String>,
    },
    /// The user has to enter a client id first.
    Register {
        /// Why, in a sentence.
        reason: String,
    },
    /// Nothing can be done.
    Refused {
        /// Why, in sentences.
        reason: String,
    },
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
    /// The authorization server cannot be reached now; what is stored stays.
    #[error("The authorization server cannot be reached: {0}")]
    Unreachable(String),
    /// The authorization server refuses, or what it says cannot be used.
    #[error("{0}")]
    Refused(Problem),
    /// The work was cut off, as when Gatehouse shuts down.
    #[error("The sign-in was cut off.")]
    CutOff,
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        let what = error.to_string();
        match error {
            AuthError::Secrets(inner) => inner.into(),
            AuthError::Unreadable => Self::new(ErrorCode::SecretsUnavailable, what),
            AuthError::Unreachable(_) => {
                Self::new(ErrorCode::ServerUnavailable, what).todo("Check the network and try again.")
            }
            AuthError::Refused(problem) => problem,
            AuthError::CutOff => Self::new(ErrorCode::Internal, what),
        }
    }
}
