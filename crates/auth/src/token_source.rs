//! What connections see of the sign-in: a source of bearer tokens, and what to do when a server refuses one.
//! Connections never see refresh tokens, and never learn how a token was obtained.

use std::sync::Arc;

use gatehouse_model::{BoxFuture, Secret, ServerConfig, UserText, message};

use crate::discovery::www_authenticate::issuer_hint;
use crate::error::AuthError;

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
        reason: UserText,
    },
    /// The refusal is final.
    Refused {
        /// One or more sentences for the user.
        reason: UserText,
    },
}

/// [`TokenSource`] that never has a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSignIn;

impl TokenSource for NoSignIn {
    fn bearer<'a>(&'a self, _: &'a Arc<ServerConfig>) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async { Ok(None) })
    }

    fn recover<'a>(
        &'a self,
        _: &'a Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> BoxFuture<'a, Result<AuthRecovery, AuthError>> {
        Box::pin(async move {
            Ok(match rejection.status {
                401 => AuthRecovery::SignIn {
                    issuer: rejection.challenges.iter().find_map(|value| issuer_hint(value)),
                },
                _ => AuthRecovery::Refused { reason: message!("error.auth.moreScopes").into() },
            })
        })
    }
}
