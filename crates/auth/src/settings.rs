//! The sign-in settings of a server, and whether it can be signed in to at all.

use gatehouse_model::server::Remote;
use gatehouse_model::sign_in::{SignInMethod, SignInSettings};
use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};
use url::Url;

use crate::discovery::resource_identifier::server_url;
use crate::error::AuthError;

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
            let message = message!("error.auth.local", server = &server.name);
            return Err(UserError::new(ErrorCode::BadRequest, message));
        };
        if remote.sign_in.off {
            let message = message!("error.auth.off", server = &server.name);
            return Err(
                UserError::new(ErrorCode::BadRequest, message).with_hint(message!("error.auth.offHint"))
            );
        }
        if let Some(cause) = remote.sign_in.validation_error() {
            return Err(
                UserError::new(ErrorCode::BadConfig, message!("error.auth.badSettings")).with_cause(cause)
            );
        }
        Ok(Self { server, remote })
    }

    pub(crate) fn settings(&self) -> &'a SignInSettings {
        &self.remote.sign_in
    }

    pub(crate) fn url(&self) -> Result<Url, AuthError> {
        server_url(&self.remote.url).ok_or_else(|| {
            let message = message!("error.auth.badAddress", server = &self.server.name);
            AuthError::Refused(
                UserError::new(ErrorCode::BadConfig, message)
                    .with_cause(message!("error.auth.badAddressCause")),
            )
        })
    }
}

/// Whether tokens can be fetched without the user.
pub(crate) fn is_non_interactive(server: &ServerConfig) -> bool {
    SignInTarget::of(server).is_ok_and(|target| match target.settings().with {
        SignInMethod::Browser => false,
        SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } | SignInMethod::Enterprise { .. } => true,
    })
}
