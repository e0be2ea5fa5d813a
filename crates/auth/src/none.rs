//! A token source without sign-in, for connection tests.

use std::sync::Arc;

use gatehouse_model::{BoxFuture, Secret, ServerConfig};

use crate::{AuthError, Next, Refusal, TokenSource, issuer_hint};

/// [`TokenSource`] that never has a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSignIn;

impl TokenSource for NoSignIn {
    fn bearer<'a>(&'a self, _: &'a Arc<ServerConfig>) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async { Ok(None) })
    }

    fn refused<'a>(
        &'a self,
        _: &'a Arc<ServerConfig>,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, AuthError>> {
        Box::pin(async move {
            Ok(match refusal.status {
                401 => {
                    Next::SignIn { issuer: refusal.challenges.iter().find_map(|value| issuer_hint(value)) }
                }
                _ => Next::Refused { reason: "The server wants more rights than there are.".to_owned() },
            })
        })
    }
}
