//! Resolves the `${env:…}` and `${secret:…}` references in sign-in settings. A secret is bound to server,
//! generation and field, and can't be used for another one, whatever name the reference uses.

use gatehouse_common::user_environment;
use gatehouse_model::{ErrorCode, Message, Secret, UserError, message};
use gatehouse_store::SecretKey;

use crate::error::AuthError;
use crate::session::token_store::TokenStore;
use crate::settings::SignInTarget;

/// Resolves the references in the value of a field.
pub(crate) async fn expand(
    target: SignInTarget<'_>,
    token_store: &TokenStore,
    field: &str,
    value: &str,
) -> Result<Secret, AuthError> {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let reference =
            after[2..].split_once('}').and_then(|(inside, rest)| Some((inside.split_once(':')?, rest)));
        match reference {
            Some((("env", name), behind)) if !name.is_empty() => {
                out.push_str(
                    &user_environment::variable(name)
                        .and_then(|value| value.into_string().ok())
                        .ok_or_else(|| missing(message!("error.auth.cause.variableUnset", name = name)))?,
                );
                rest = behind;
            }
            Some((("secret", name), behind)) if !name.is_empty() => {
                let key = SecretKey::for_server_field(&target.server.binding(), &format!("signIn/{field}"));
                let secret = token_store.secret(key).await?;
                let secret =
                    secret.ok_or_else(|| missing(message!("error.auth.cause.secretMissing", name = name)))?;
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

fn missing(cause: Message) -> AuthError {
    let error = UserError::new(ErrorCode::BadConfig, message!("error.auth.incomplete"));
    AuthError::Refused(error.with_cause(cause).with_hint(message!("error.auth.incompleteHint")))
}
