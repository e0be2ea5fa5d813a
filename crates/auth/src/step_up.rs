//! Scope upgrades for calls that lack scopes (AUTH-1, step-up authorization): the user is asked once, also if
//! several calls wait for the same scopes; then the browser is opened; then the calls continue. Limited in
//! number, so that a server can't ask without end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ask::{AskServer, StepUpAsk};
use gatehouse_model::{Answer, Ask, Secret, ServerConfig};
use tokio::time::Instant;

use crate::challenge::Challenge;
use crate::sign_ins::Inner;
use crate::slot::Slot;
use crate::{AuthError, Next};

/// Maximum number of requests within [`WITHIN`].
const MOST: usize = 2;
const WITHIN: Duration = Duration::from_secs(600);

/// Past scope upgrade requests.
#[derive(Default)]
pub(crate) struct StepUps {
    asked: VecDeque<Instant>,
    /// Scopes that the user declined last.
    declined: Vec<String>,
}

impl StepUps {
    fn may_ask(&mut self, now: Instant) -> bool {
        while self.asked.front().is_some_and(|asked| now.duration_since(*asked) > WITHIN) {
            self.asked.pop_front();
        }
        self.asked.len() < MOST
    }
}

impl Inner {
    /// Handles a call that lacks scopes.
    pub(crate) async fn step_up(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
        (sent, challenge, waits): (Option<&Secret>, &Challenge, bool),
    ) -> Result<Next, AuthError> {
        let wanted = &challenge.scopes;
        let name = &server.name;
        let refused =
            |why: &str| Ok(Next::Refused { reason: format!("{name} wants more rights for this. {why}") });
        let seen = slot.with(|now| now.questions);
        let mut steps = slot.stepping.lock().await;
        // Another call may have obtained them while this one waited for the lock.
        let Some(held) = self.read_anew(server, slot).await?.filter(|held| held.tokens.is_some()) else {
            return Ok(Next::SignIn { issuer: None });
        };
        let Some(tokens) = &held.tokens else { return Ok(Next::SignIn { issuer: None }) };
        if sent.is_none_or(|sent| tokens.access != *sent) && tokens.is_valid(self.deps.clock.now()) {
            return Ok(Next::Again(tokens.access.clone()));
        }
        if wanted.is_empty() {
            return refused("It does not say which.");
        }
        let missing: Vec<String> =
            wanted.iter().filter(|scope| !tokens.scopes.contains(scope)).cloned().collect();
        if missing.is_empty() {
            return refused("The sign-in has them already, so that asking for them again would not help.");
        }
        let list = missing.join(", ");
        slot.with(|now| now.wanted.clone_from(wanted));
        if !waits {
            return refused(&format!("They are: {list}. Sign in again to get them."));
        }
        if slot.with(|now| now.questions) != seen
            && missing.iter().all(|scope| steps.declined.contains(scope))
        {
            return refused("You declined.");
        }
        if !steps.may_ask(Instant::now()) {
            return refused(&format!(
                "It asked {MOST} times within {} minutes; that is not gone on with. They are: {list}.",
                WITHIN.as_secs() / 60
            ));
        }
        steps.asked.push_back(Instant::now());
        let accepted = self.ask(server, &missing).await;
        slot.with(|now| now.questions += 1);
        if !accepted {
            steps.declined = missing;
            return refused("You declined.");
        }
        steps.declined.clear();
        // Accepting the request counts as the user's consent to open the browser.
        self.begin(Arc::clone(server), true).await.map_err(AuthError::Refused)?;
        self.wait_for_attempts(slot).await;
        let after = self.read_anew(server, slot).await?;
        match after.as_ref().and_then(|sign_in| sign_in.tokens.as_ref()) {
            Some(after) if after.access != tokens.access => Ok(Next::Again(after.access.clone())),
            _ => {
                let problem = slot.with(|now| now.problem.clone());
                refused(&problem.map_or_else(|| "The sign-in was given up.".to_owned(), |p| p.to_string()))
            }
        }
    }

    async fn ask(&self, server: &ServerConfig, missing: &[String]) -> bool {
        let Some(ask) = self.ask.lock().clone() else { return false };
        let question = StepUpAsk {
            server: AskServer {
                id: server.id.clone(),
                generation: server.generation,
                name: server.name.clone(),
                description: server.look.description.clone(),
                icon: server.icon().to_owned(),
            },
            scopes: missing.to_vec(),
        };
        matches!(ask.ask(Ask::StepUp(question)).await, Answer::Accept { .. })
    }

    /// Returns when no attempt waits for the browser; one attempt may replace another meanwhile.
    async fn wait_for_attempts(&self, slot: &Slot) {
        let mut ended = slot.attempts.subscribe();
        loop {
            while slot.with(|now| now.attempt.is_some()) {
                tokio::select! {
                    changed = ended.changed() => if changed.is_err() { return },
                    () = self.stop.cancelled() => return,
                }
            }
            let beginning = slot.beginning.lock().await;
            if slot.with(|now| now.attempt.is_none()) {
                return;
            }
            drop(beginning);
        }
    }
}
