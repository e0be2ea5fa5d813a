//! Scope upgrades for calls that lack scopes (AUTH-1, step-up authorization): the user is asked once, also if
//! several calls wait for the same scopes; then the browser is opened; then the calls continue. Limited in
//! number, so that a server can't ask without end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{ScopeUpgradeRequest, ServerSummary};
use gatehouse_model::{ApprovalAnswer, ApprovalRequest, Secret, ServerConfig};
use tokio::time::Instant;

use crate::session_state::SessionState;
use crate::sign_ins::SignInsShared;
use crate::www_authenticate::Challenge;
use crate::{AuthError, AuthRecovery};

/// Maximum number of requests within [`PROMPT_WINDOW`].
const MAX_PROMPTS: usize = 2;
const PROMPT_WINDOW: Duration = Duration::from_secs(600);

/// Past scope upgrade requests.
#[derive(Default)]
pub(crate) struct StepUpHistory {
    asked_at: VecDeque<Instant>,
    /// Scopes that the user declined last.
    declined: Vec<String>,
}

impl StepUpHistory {
    fn can_ask(&mut self, now: Instant) -> bool {
        while self.asked_at.front().is_some_and(|asked_at| now.duration_since(*asked_at) > PROMPT_WINDOW) {
            self.asked_at.pop_front();
        }
        self.asked_at.len() < MAX_PROMPTS
    }
}

impl SignInsShared {
    /// Handles a call that lacks scopes.
    pub(crate) async fn step_up(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        (sent, challenge, can_wait): (Option<&Secret>, &Challenge, bool),
    ) -> Result<AuthRecovery, AuthError> {
        let wanted_scopes = &challenge.scopes;
        let name = &server.name;
        let denied = |why: &str| {
            Ok(AuthRecovery::Refused { reason: format!("{name} wants more rights for this. {why}") })
        };
        let answered_before = session_state.with(|now| now.answered_prompts);
        let mut history = session_state.step_up_lock.lock().await;
        // Another call may have obtained them while this one waited for the lock.
        let Some(stored) =
            self.load_sign_in(server, session_state).await?.filter(|stored| stored.tokens.is_some())
        else {
            return Ok(AuthRecovery::SignIn { issuer: None });
        };
        let Some(tokens) = &stored.tokens else { return Ok(AuthRecovery::SignIn { issuer: None }) };
        if sent.is_none_or(|sent| tokens.access != *sent) && tokens.is_valid(self.deps.clock.now()) {
            return Ok(AuthRecovery::Retry(tokens.access.clone()));
        }
        if wanted_scopes.is_empty() {
            return denied("It does not say which.");
        }
        let missing: Vec<String> =
            wanted_scopes.iter().filter(|scope| !tokens.scopes.contains(scope)).cloned().collect();
        if missing.is_empty() {
            return denied("The sign-in has them already, so that asking for them again would not help.");
        }
        let list = missing.join(", ");
        session_state.with(|now| now.wanted_scopes.clone_from(wanted_scopes));
        if !can_wait {
            return denied(&format!("They are: {list}. Sign in again to get them."));
        }
        if session_state.with(|now| now.answered_prompts) != answered_before
            && missing.iter().all(|scope| history.declined.contains(scope))
        {
            return denied("You declined.");
        }
        if !history.can_ask(Instant::now()) {
            return denied(&format!(
                "It asked {MAX_PROMPTS} times within {} minutes; that is not gone on with. They are: {list}.",
                PROMPT_WINDOW.as_secs() / 60
            ));
        }
        history.asked_at.push_back(Instant::now());
        let accepted = self.ask_user(server, &missing).await;
        session_state.with(|now| now.answered_prompts += 1);
        if !accepted {
            history.declined = missing;
            return denied("You declined.");
        }
        history.declined.clear();
        // Accepting the request counts as the user's consent to open the browser.
        self.begin(Arc::clone(server), true).await.map_err(AuthError::Refused)?;
        self.wait_until_no_attempt(session_state).await;
        let after = self.load_sign_in(server, session_state).await?;
        match after.as_ref().and_then(|sign_in| sign_in.tokens.as_ref()) {
            Some(after) if after.access != tokens.access => Ok(AuthRecovery::Retry(after.access.clone())),
            _ => {
                let problem = session_state.with(|now| now.problem.clone());
                denied(&problem.map_or_else(|| "The sign-in was given up.".to_owned(), |p| p.to_string()))
            }
        }
    }

    async fn ask_user(&self, server: &ServerConfig, missing: &[String]) -> bool {
        let Some(ask) = self.ask.lock().clone() else { return false };
        let question = ScopeUpgradeRequest {
            server: ServerSummary {
                id: server.id.clone(),
                generation: server.generation,
                name: server.name.clone(),
                description: server.look.description.clone(),
                icon: server.icon().to_owned(),
            },
            scopes: missing.to_vec(),
        };
        matches!(ask.ask(ApprovalRequest::StepUp(question)).await, ApprovalAnswer::Accept { .. })
    }

    /// Returns when no attempt waits for the browser; one attempt may replace another meanwhile.
    async fn wait_until_no_attempt(&self, session_state: &SessionState) {
        let mut ended = session_state.attempts.subscribe();
        loop {
            while session_state.with(|now| now.attempt.is_some()) {
                tokio::select! {
                    changed = ended.changed() => if changed.is_err() { return },
                    () = self.stop.cancelled() => return,
                }
            }
            let begin_lock = session_state.begin_lock.lock().await;
            if session_state.with(|now| now.attempt.is_none()) {
                return;
            }
            drop(begin_lock);
        }
    }
}
