//! Scope upgrades for calls that lack scopes (AUTH-1, step-up authorization): the user is asked once, also if
//! several calls wait for the same scopes; then the browser is opened; then the calls continue. Limited in
//! number, so that a server can't ask without end.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::approval::{ScopeUpgradeRequest, ServerSummary};
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, Message, Secret, ServerConfig, ServerId, UserText, message,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::discovery::www_authenticate::Challenge;
use crate::error::{AuthError, sentences};
use crate::login::login_service::LoginService;
use crate::token_source::AuthRecovery;

/// Maximum number of requests within [`PROMPT_WINDOW`].
const MAX_PROMPTS: usize = 2;
const PROMPT_WINDOW: Duration = Duration::from_secs(600);

/// Handles calls that lack scopes.
pub(crate) struct StepUp {
    login: Arc<LoginService>,
    /// Dropped at shutdown: the handler may hold a reference to the sign-in, which would be a cycle.
    approver: Mutex<Option<Arc<dyn AskUser>>>,
    prompts: Mutex<HashMap<ServerId, Arc<ServerPrompts>>>,
}

/// The scope upgrade requests of one server.
#[derive(Default)]
struct ServerPrompts {
    /// Held while a request is pending.
    history: tokio::sync::Mutex<PromptHistory>,
    /// Number of requests that were answered.
    answered: AtomicU64,
}

/// Past scope upgrade requests.
#[derive(Default)]
struct PromptHistory {
    asked_at: VecDeque<Instant>,
    /// Scopes that the user declined last.
    declined: Vec<String>,
}

impl PromptHistory {
    fn can_ask(&mut self, now: Instant) -> bool {
        while self.asked_at.front().is_some_and(|asked_at| now.duration_since(*asked_at) > PROMPT_WINDOW) {
            self.asked_at.pop_front();
        }
        self.asked_at.len() < MAX_PROMPTS
    }
}

/// A server's refusal of a call because of its scopes.
#[derive(Clone, Copy)]
pub(crate) struct ScopeRefusal<'a> {
    /// The token that was sent.
    pub(crate) sent: Option<&'a Secret>,
    pub(crate) challenge: &'a Challenge,
    /// Whether the call can wait for the user.
    pub(crate) can_wait: bool,
}

impl StepUp {
    pub(crate) fn new(login: Arc<LoginService>) -> Self {
        Self { login, approver: Mutex::default(), prompts: Mutex::default() }
    }

    /// Sets the handler of the requests. Only the first call has an effect.
    pub(crate) fn set_approver(&self, approver: Arc<dyn AskUser>) {
        self.approver.lock().get_or_insert(approver);
    }

    /// Declines all further requests.
    pub(crate) fn drop_approver(&self) {
        drop(self.approver.lock().take());
    }

    /// Drops what is known of a server that was removed.
    pub(crate) fn forget(&self, server: &ServerId) {
        self.prompts.lock().remove(server);
    }

    /// Handles a call that lacks scopes.
    pub(crate) async fn step_up(
        &self,
        server: &Arc<ServerConfig>,
        refusal: ScopeRefusal<'_>,
    ) -> Result<AuthRecovery, AuthError> {
        let wanted_scopes = &refusal.challenge.scopes;
        let name = &server.name;
        let denied_with = |why: UserText| {
            let reason = message!("error.auth.wantsScopes", server = name, reason = why).into();
            Ok(AuthRecovery::Refused { reason })
        };
        let denied = |why: Message| denied_with(why.into());
        let sessions = &self.login.attempts.sessions;
        let session_state = sessions.session_state(&server.id);
        let prompts = self.of_server(&server.id);
        let answered_before = prompts.answered.load(Ordering::SeqCst);
        let mut history = prompts.history.lock().await;
        // Another call may have obtained them while this one waited for the lock.
        let Some(stored) =
            sessions.load_sign_in(server, &session_state).await?.filter(|stored| stored.tokens.is_some())
        else {
            return Ok(AuthRecovery::SignIn { issuer: None });
        };
        let Some(tokens) = &stored.tokens else { return Ok(AuthRecovery::SignIn { issuer: None }) };
        if refusal.sent.is_none_or(|sent| tokens.access != *sent) && tokens.is_valid(sessions.now()) {
            return Ok(AuthRecovery::Retry(tokens.access.clone()));
        }
        if wanted_scopes.is_empty() {
            return denied(message!("error.auth.scopes.unnamed"));
        }
        let missing: Vec<String> =
            wanted_scopes.iter().filter(|scope| !tokens.scopes.contains(scope)).cloned().collect();
        if missing.is_empty() {
            return denied(message!("error.auth.scopes.granted"));
        }
        let list = missing.join(", ");
        session_state.with(|data| data.wanted_scopes.clone_from(wanted_scopes));
        if !refusal.can_wait {
            return denied(message!("error.auth.scopes.missing", scopes = list));
        }
        if prompts.answered.load(Ordering::SeqCst) != answered_before
            && missing.iter().all(|scope| history.declined.contains(scope))
        {
            return denied(message!("error.auth.scopes.declined"));
        }
        if !history.can_ask(Instant::now()) {
            return denied(message!(
                "error.auth.scopes.tooMany",
                times = MAX_PROMPTS.to_string(),
                minutes = (PROMPT_WINDOW.as_secs() / 60).to_string(),
                scopes = list
            ));
        }
        history.asked_at.push_back(Instant::now());
        let accepted = self.request_approval(server, &missing).await;
        prompts.answered.fetch_add(1, Ordering::SeqCst);
        if !accepted {
            history.declined = missing;
            return denied(message!("error.auth.scopes.declined"));
        }
        history.declined.clear();
        // Accepting the request counts as the user's consent to open the browser.
        self.login.begin(Arc::clone(server), true).await.map_err(AuthError::Refused)?;
        self.login.attempts.wait_until_none(&server.id).await;
        let after = sessions.load_sign_in(server, &session_state).await?;
        match after.as_ref().and_then(|sign_in| sign_in.tokens.as_ref()) {
            Some(after) if after.access != tokens.access => Ok(AuthRecovery::Retry(after.access.clone())),
            _ => {
                let error = session_state.with(|data| data.error.clone());
                denied_with(error.map_or_else(|| message!("error.auth.scopes.givenUp").into(), sentences))
            }
        }
    }

    fn of_server(&self, server: &ServerId) -> Arc<ServerPrompts> {
        Arc::clone(self.prompts.lock().entry(server.clone()).or_default())
    }

    async fn request_approval(&self, server: &ServerConfig, missing: &[String]) -> bool {
        let Some(approver) = self.approver.lock().clone() else { return false };
        let request = ScopeUpgradeRequest { server: ServerSummary::from(server), scopes: missing.to_vec() };
        matches!(approver.ask(ApprovalRequest::StepUp(request)).await, ApprovalAnswer::Accept { .. })
    }
}
