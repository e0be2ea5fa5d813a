//! Starts logins, by the method that the settings of the server name.

use std::sync::Arc;

use gatehouse_model::sign_in::{SignInMethod, SignInStart};
use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};
use parking_lot::Mutex;
use url::Url;

use super::attempts::Attempts;
use super::{browser_login, enterprise_login};
use crate::error::AuthError;
use crate::grants::client_credentials;
use crate::grants::grant_request::GrantContext;
use crate::settings::SignInTarget;

pub(crate) struct LoginService {
    pub(crate) attempts: Arc<Attempts>,
    /// URL of the Client ID Metadata Document.
    client_metadata_url: Mutex<Option<String>>,
}

impl LoginService {
    pub(crate) fn new(attempts: Arc<Attempts>) -> Self {
        Self { attempts, client_metadata_url: Mutex::default() }
    }

    pub(crate) fn client_metadata_url(&self) -> Option<String> {
        self.client_metadata_url.lock().clone()
    }

    pub(crate) fn set_client_metadata_url(&self, url: Option<String>) {
        *self.client_metadata_url.lock() = url;
    }

    /// Starts to sign in, in place of any attempt that is in progress for this server. `open` opens the
    /// browser.
    pub(crate) async fn begin(
        &self,
        server: Arc<ServerConfig>,
        open: bool,
    ) -> Result<SignInStart, UserError> {
        let attempts = self.attempts.of_server(&server.id);
        let starting = self.attempts.replace(&attempts).await;
        let Some(started) = starting.cancel.run_until_cancelled(self.start(&server)).await else {
            return Err(UserError::new(ErrorCode::Cancelled, message!("error.auth.cancelled")));
        };
        match started {
            Ok(None) => Ok(SignInStart { address: None }),
            Ok(Some(address)) => {
                if open {
                    self.attempts.open_browser(&server, &address).await;
                }
                Ok(SignInStart { address: Some(address.into()) })
            }
            Err(error) => {
                let error = UserError::from(error);
                let sessions = &self.attempts.sessions;
                sessions.session_state(&server.id).with(|data| data.error = Some(error.clone()));
                sessions.record_failure(&server, &error).await;
                sessions.notify(&server).await;
                Err(error)
            }
        }
    }

    /// Signs in, or returns the authorization URL of an attempt that waits for the browser.
    async fn start(&self, server: &Arc<ServerConfig>) -> Result<Option<Url>, AuthError> {
        let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
        match target.settings().with {
            SignInMethod::Browser => {
                let client_metadata_url = self.client_metadata_url();
                browser_login::start(&self.attempts, server, client_metadata_url.as_deref()).await.map(Some)
            }
            SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } => {
                let sessions = &self.attempts.sessions;
                let session_state = sessions.session_state(&server.id);
                let context = GrantContext::new(sessions, &session_state, target);
                let fetched = client_credentials::fetch(&context).await?;
                sessions.store_new_sign_in(server, &session_state, fetched).await?;
                self.attempts.announce_sign_in(server).await;
                Ok(None)
            }
            SignInMethod::Enterprise { .. } => enterprise_login::start(&self.attempts, server).await,
        }
    }
}
