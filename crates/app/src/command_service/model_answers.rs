//! What the user's models say of pending requests: an answer to a sampling request, for the user to check and send, and an
//! opinion about a call. Neither answers a request or changes one.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::command::{ApprovalsGenerate, ApprovalsOpinion};
use gatehouse_model::provider::{RiskOpinion, SamplingDraft};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, UserError, message};
use gatehouse_models::sampling::{self, SamplingDefect, SamplingPrompt, SamplingReply};
use tokio_util::sync::CancellationToken;

use super::AppState;
use super::named_runs::NamedRun;
use crate::models::opinions;

/// How long a model may write an answer: as long as an approval request waits at most.
const ANSWER_TIME_LIMIT: Duration = Duration::from_secs(600);

/// Lets the model for sampling write an answer to a pending sampling request. The caller has the operator's authority, so
/// that this is the approval that the server's prompt goes to the model's provider.
pub(super) async fn generate(
    state: &Arc<AppState>,
    wanted: &ApprovalsGenerate,
    gone: &CancellationToken,
) -> Result<SamplingDraft, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let choice = state.models.stored().await?.sampling.ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.app.noSamplingModel"))
            .with_hint(message!("error.app.noSamplingModelHint"))
    })?;
    let asked = state.tools.approvals().sampling_to_answer(&wanted.id)?;
    let SamplingPrompt { request, has_tools } =
        sampling::prompt(&asked.params, &choice.model).map_err(unusable)?;
    let (endpoint, model) = state.models.chosen(&choice).await?;
    let event = AuditEvent::SamplingGenerated {
        ask: wanted.id.clone(),
        server: asked.server.id,
        model: model.clone(),
    };
    state.audit(event).await?;
    let writing = async {
        let answer = state.models.client().complete(&endpoint, &request);
        match tokio::time::timeout(ANSWER_TIME_LIMIT, answer).await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                let late = message!("error.app.samplingTimedOut", model = &model);
                Err(UserError::new(ErrorCode::TimedOut, late))
            }
        }
    };
    let answer = named.unless_cancelled(writing).await?;
    let reply = sampling::reply(&answer.text, answer.stop, &choice.model).ok_or_else(|| {
        UserError::new(ErrorCode::ModelFailed, message!("error.app.samplingEmpty", model = &model))
            .with_hint(message!("error.app.samplingEmptyHint"))
    })?;
    let SamplingReply { content, text } = reply;
    Ok(SamplingDraft { content, text, model, tools_left_out: has_tools })
}

fn unusable(defect: SamplingDefect) -> UserError {
    let cause = match defect {
        SamplingDefect::Unreadable(reason) => message!("error.app.samplingUnreadable", reason = reason),
        SamplingDefect::Content(kind) => message!("error.app.samplingContent", kind = kind),
    };
    UserError::new(ErrorCode::BadRequest, message!("error.app.samplingUnusable"))
        .with_cause(cause)
        .with_hint(message!("error.app.samplingUnusableHint"))
}

/// A model's opinion about a pending call; none where that is off.
pub(super) async fn opinion(
    state: &Arc<AppState>,
    wanted: &ApprovalsOpinion,
    gone: &CancellationToken,
) -> Result<Option<RiskOpinion>, UserError> {
    let named = NamedRun::begin(state, None, gone)?;
    let ApprovalsOpinion { id, hash } = wanted;
    named.unless_cancelled(opinions::opinion(&state.models, state.tools.approvals(), id, hash)).await
}
