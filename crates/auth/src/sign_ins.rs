//! The public interface of the sign-in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::sign_in::{SignInStart, SignInState, SignOutResult};
use gatehouse_model::{
    AskUser, AuditLog, BoxFuture, Clock, ErrorCode, EventSink, OpenUrl, Secret, ServerConfig, ServerId,
    UserError, message,
};
use gatehouse_store::SecretStore;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::background_tasks::BackgroundTasks;
use crate::error::AuthError;
use crate::login::attempts::Attempts;
use crate::login::enterprise_login;
use crate::login::login_service::LoginService;
use crate::session::sessions::{SignInSessions, SignInSessionsDeps};
use crate::session::token_store::TokenStore;
use crate::token_source::{AuthRecovery, AuthRejection, TokenSource};
use crate::tokens::refresh::TokenRefresher;
use crate::tokens::sign_out;
use crate::tokens::step_up::StepUp;
use crate::tokens::unauthorized::RejectionHandler;

/// How long the user may take in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);

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

/// All sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct SignIns {
    sessions: Arc<SignInSessions>,
    login: Arc<LoginService>,
    refresher: Arc<TokenRefresher>,
    step_up: Arc<StepUp>,
    rejections: Arc<RejectionHandler>,
    tasks: BackgroundTasks,
}

impl SignIns {
    /// Starts without pending sign-ins.
    #[must_use]
    pub fn new(deps: SignInDeps) -> Self {
        Self::with_deadline(deps, LOGIN_TIMEOUT)
    }

    /// As [`Self::new`], with another time limit for the browser.
    #[must_use]
    pub fn with_deadline(deps: SignInDeps, deadline: Duration) -> Self {
        let SignInDeps { secrets, clock, audit, events, open, data_dir } = deps;
        let token_store = TokenStore::new(secrets);
        let sessions =
            Arc::new(SignInSessions::new(SignInSessionsDeps { token_store, clock, audit, events, data_dir }));
        let tasks = BackgroundTasks::default();
        let attempts = Attempts::new(Arc::clone(&sessions), open, tasks.clone(), deadline);
        let login = Arc::new(LoginService::new(Arc::new(attempts)));
        let refresher = Arc::new(TokenRefresher::new(Arc::clone(&sessions), tasks.clone()));
        let step_up = Arc::new(StepUp::new(Arc::clone(&login)));
        let rejections = Arc::new(RejectionHandler {
            sessions: Arc::clone(&sessions),
            login: Arc::clone(&login),
            refresher: Arc::clone(&refresher),
            step_up: Arc::clone(&step_up),
        });
        Self { sessions, login, refresher, step_up, rejections, tasks }
    }

    /// Sets the handler for scope upgrade requests. Only the first call has an effect; without a handler
    /// every request is declined.
    pub fn set_approver(&self, approver: Arc<dyn AskUser>) {
        self.step_up.set_approver(approver);
    }

    /// Sets the URL of the Client ID Metadata Document.
    pub fn set_client_document(&self, url: Option<String>) {
        self.login.set_client_metadata_url(url);
    }

    /// Starts to sign in. A pending sign-in for this server is cancelled. If the result contains no address,
    /// the sign-in is complete.
    ///
    /// # Errors
    /// When the sign-in can't be started; [`ErrorCode::NeedsClientRegistration`] if a client id is missing.
    pub async fn begin(&self, server: Arc<ServerConfig>, open: bool) -> Result<SignInStart, UserError> {
        self.login.begin(server, open).await
    }

    /// Takes the address at which the browser ended up, as pasted by the user. Errors in the response itself
    /// are reported through the state, as for a response that reaches the listener.
    ///
    /// # Errors
    /// When no sign-in is pending, or the address doesn't belong to the pending one.
    pub fn paste(&self, server: &ServerId, address: &str) -> Result<(), UserError> {
        let callback = self.login.attempts.of_server(server).callback().ok_or_else(|| {
            UserError::new(ErrorCode::NotFound, message!("error.auth.noPaste"))
                .with_hint(message!("error.auth.noPasteHint"))
        })?;
        callback.take_pasted_url(address).map_err(|_| {
            UserError::new(ErrorCode::BadRequest, message!("error.auth.wrongPaste"))
                .with_hint(message!("error.auth.wrongPasteHint"))
        })
    }

    /// Cancels a pending sign-in.
    pub fn cancel(&self, server: &ServerId) {
        self.login.attempts.of_server(server).cancel();
    }

    /// Signs out: deletes the tokens, and revokes them if the server supports it. `cancel` ends the revocation only.
    ///
    /// # Errors
    /// When the secret store refuses, or another process holds the renewal lock for too long. Also when the audit
    /// entry can't be written; the user is signed out all the same then.
    pub async fn sign_out(
        &self,
        server: Arc<ServerConfig>,
        cancel: &CancellationToken,
    ) -> Result<SignOutResult, UserError> {
        Ok(sign_out::sign_out(&self.login.attempts, &server, cancel).await?)
    }

    /// The current sign-in state of a server.
    pub async fn state(&self, server: Arc<ServerConfig>) -> SignInState {
        self.sessions.state(&server).await
    }

    /// Deletes all sign-in data of a server that was removed, or of the server as it was before an edit.
    pub async fn forget(&self, server: &ServerConfig) {
        let attempts = self.login.attempts.of_server(&server.id);
        let _no_attempt = attempts.end().await;
        self.sessions.forget(server).await;
        self.step_up.forget(&server.id);
    }

    /// Takes an id token of the company's identity provider that the user already has, so that no further
    /// sign-in is needed.
    ///
    /// # Errors
    /// When the settings name no identity provider, the token isn't from it or not for this client, or the
    /// secret store refuses.
    pub async fn adopt_id_token(&self, server: &ServerConfig, id_token: Secret) -> Result<(), UserError> {
        Ok(enterprise_login::adopt_id_token(&self.sessions, server, id_token).await?)
    }

    /// Receives the id of each server that was signed in to.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<ServerId> {
        self.login.attempts.subscribe()
    }

    /// Cancels pending sign-ins, and returns when all tasks have ended.
    pub async fn shutdown(&self) {
        self.tasks.shutdown().await;
        self.step_up.drop_approver();
    }
}

impl TokenSource for SignIns {
    fn bearer<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(self.refresher.bearer(server))
    }

    fn recover<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> BoxFuture<'a, Result<AuthRecovery, AuthError>> {
        Box::pin(self.rejections.recover(server, rejection))
    }
}
