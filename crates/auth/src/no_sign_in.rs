//! A token source without sign-in, for connection tests.

use std::sync::Arc;

use gatehouse_model::{BoxFuture, Secret, ServerConfig};

use crate::{AuthError, AuthRecovery, AuthRejection, TokenSource, issuer_hint};

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
                _ => AuthRecovery::Refused {
                    reason: "The server wants more rights than there are.".to_owned(),
                },
            })
        })
    }
}
