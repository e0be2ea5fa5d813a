//! Opinions about waiting calls (PERM-17): which were given, and how many are asked for at a time. Off unless the user
//! chose a model for them.
//!
//! Must never touch an approval request: it reads one through [`ApprovalQueue::call_to_judge`], and what a model says goes
//! to whoever asked and nowhere else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::provider::RiskOpinion;
use gatehouse_model::{ApprovalId, CallHash, ErrorCode, UserError, message};
use gatehouse_models::exchange::ModelRequest;
use gatehouse_models::providers::{ModelAnswer, ModelError, ProviderEndpoint};
use gatehouse_models::risk_opinion::{self, RatedCall, RatedRisk};
use gatehouse_tools::ApprovalQueue;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::models::ModelProviders;

/// Most opinions that are remembered.
const MAX_KNOWN: usize = 256;
/// Most requests for opinions that are under way at a time.
const MAX_RUNNING: usize = 2;
/// Most callers that wait for one; the next get none.
const MAX_WAITING: usize = 32;
/// How long a model may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The opinions that were given, by the hash of their call.
pub(crate) struct Opinions {
    known: Mutex<VecDeque<(CallHash, Arc<OpinionSlot>)>>,
    running: Semaphore,
    waiting: Semaphore,
}

/// The opinion about one call: `None` until a model was asked. Held while it is, so that each call is put to it once.
type OpinionSlot = tokio::sync::Mutex<Option<Option<RiskOpinion>>>;

impl Default for Opinions {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            running: Semaphore::new(MAX_RUNNING),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }
}

impl Opinions {
    /// Forgets all opinions: another model may have another one.
    pub(crate) fn forget(&self) {
        self.known.lock().clear();
    }

    fn slot(&self, hash: &CallHash) -> Arc<OpinionSlot> {
        let mut known = self.known.lock();
        if let Some((_, slot)) = known.iter().find(|(of, _)| of == hash) {
            return Arc::clone(slot);
        }
        if known.len() == MAX_KNOWN {
            known.pop_front();
        }
        let slot = Arc::new(OpinionSlot::default());
        known.push_back((hash.clone(), Arc::clone(&slot)));
        slot
    }
}

/// The opinion of the chosen model about a pending call. `None` if no model is chosen, the model has none in the form
/// that was asked for, the call is too large, or too many wait for one. Dropping this ends the request.
///
/// # Errors
/// If the request shows another call by now, or the provider fails.
pub(crate) async fn opinion(
    models: &ModelProviders,
    approvals: &ApprovalQueue,
    id: &ApprovalId,
    hash: &CallHash,
) -> Result<Option<RiskOpinion>, UserError> {
    let Some(choice) = models.stored().await?.opinion else { return Ok(None) };
    let call = approvals.call_to_judge(id, hash)?;
    let Ok(_waiting) = models.opinions.waiting.try_acquire() else { return Ok(None) };
    let slot = models.opinions.slot(hash);
    let mut known = slot.lock().await;
    if let Some(opinion) = &*known {
        return Ok(opinion.clone());
    }
    let rated = RatedCall {
        server: &call.server,
        title: &call.title,
        description: call.description.as_deref(),
        class: call.class,
        arguments: &call.arguments,
    };
    let Some(request) = risk_opinion::request(rated, &choice.model) else { return Ok(None) };
    // Closed never, so that there is always a place at some time.
    let Ok(_running) = models.opinions.running.acquire().await else { return Ok(None) };
    let (endpoint, model) = models.chosen(&choice).await?;
    let answer = tokio::time::timeout(TIME_LIMIT, complete(models, &endpoint, request)).await;
    let answer = answer.map_err(|_| {
        UserError::new(ErrorCode::TimedOut, message!("error.app.opinionTimedOut", model = &model))
    })??;
    let opinion = risk_opinion::read(&answer.text).map(|RatedRisk { level, sentence }| RiskOpinion {
        level,
        sentence,
        model,
    });
    *known = Some(opinion.clone());
    Ok(opinion)
}

/// Asks a model. One that takes no temperature, as some that reason do, is asked again without.
async fn complete(
    models: &ModelProviders,
    endpoint: &ProviderEndpoint,
    mut request: ModelRequest,
) -> Result<ModelAnswer, ModelError> {
    match models.client().complete(endpoint, &request).await {
        Err(ModelError::Rejected { status: 400 | 422, .. }) => {
            request.temperature = None;
            models.client().complete(endpoint, &request).await
        }
        done => done,
    }
}
