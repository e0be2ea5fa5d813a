//! Sign-in settings with their secret references resolved. A secret is bound to server, generation and field,
//! and can't be used for another one, whatever name the reference uses.

use gatehouse_common::user_environment;
use gatehouse_model::server::Remote;
use gatehouse_model::sign_in::SignInSettings;
use gatehouse_model::{ErrorCode, Secret, ServerConfig, UserError};
use gatehouse_store::SecretKey;
use url::Url;

use crate::AuthError;
use crate::address::server_url;
use crate::token_store::TokenStore;

/// A remote server, which can be signed in to.
#[derive(Clone, Copy)]
pub(crate) struct SignInTarget<'a> {
    pub(crate) server: &'a ServerConfig,
    /// Its remote transport settings.
    pub(crate) remote: &'a Remote,
}

impl<'a> SignInTarget<'a> {
    /// Fails for servers that can't be signed in to.
    pub(crate) fn of(server: &'a ServerConfig) -> Result<Self, UserError> {
        let Some(remote) = server.transport.remote() else {
            let what = format!("{} runs on this computer: there is nothing to sign in to.", server.name);
            return Err(UserError::new(ErrorCode::BadRequest, what));
        };
        if remote.sign_in.off {
            let what = format!("Signing in to {} is switched off.", server.name);
            return Err(UserError::new(ErrorCode::BadRequest, what)
                .with_hint("Switch it on in the server's settings."));
        }
        if let Some(fault) = remote.sign_in.validation_error() {
            return Err(UserError::new(ErrorCode::BadConfig, "The settings of the sign-in cannot be used.")
                .with_cause(fault));
        }
        Ok(Self { server, remote })
    }

    pub(crate) fn settings(&self) -> &'a SignInSettings {
        &self.remote.sign_in
    }

    pub(crate) fn url(&self) -> Result<Url, AuthError> {
        server_url(&self.remote.url).ok_or_else(|| {
            let what = format!("The address of {} cannot be used to sign in.", self.server.name);
            AuthError::Refused(
                UserError::new(ErrorCode::BadConfig, what).with_cause("It is not http or https."),
            )
        })
    }

    /// Resolves the `${env:…}` and `${secret:…}` references in the value of a field.
    pub(crate) async fn expand_references(
        &self,
        token_store: &TokenStore,
        field: &str,
        value: &str,
    ) -> Result<Secret, AuthError> {
        let mut out = String::new();
        let mut rest = value;
        while let Some(at) = rest.find("${") {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            let inside =
                after[2..].split_once('}').and_then(|(inside, rest)| Some((inside.split_once(':')?, rest)));
            match inside {
                Some((("env", name), behind)) if !name.is_empty() => {
                    out.push_str(
                        &user_environment::variable(name)
                            .and_then(|value| value.into_string().ok())
                            .ok_or_else(|| missing(format!("The environment variable {name} is not set.")))?,
                    );
                    rest = behind;
                }
                Some((("secret", name), behind)) if !name.is_empty() => {
                    let key = SecretKey::for_server_field(&self.server.binding(), &format!("signIn/{field}"));
                    let secret = token_store.secret(key).await?;
                    let secret =
                        secret.ok_or_else(|| missing(format!("The secret “{name}” is not stored.")))?;
                    out.push_str(secret.reveal());
                    rest = behind;
                }
                _ => {
                    out.push_str("${");
                    rest = &after[2..];
                }
            }
        }
        out.push_str(rest);
        Ok(Secret::new(out))
    }
}

fn missing(why: String) -> AuthError {
    let problem =
        UserError::new(ErrorCode::BadConfig, "The settings of the sign-in are not complete.").with_cause(why);
    AuthError::Refused(problem.with_hint("Enter it in the server's settings."))
}
