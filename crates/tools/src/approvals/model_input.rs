//! What a model of the user's gets of a pending request: the params of a sampling request that it may answer, and a call
//! that it gives an opinion about (PERM-17).
//!
//! Only reads: nothing here changes, answers or delays a request.

use std::sync::Arc;

use gatehouse_model::approval::{ServerSummary, ShownArgument};
use gatehouse_model::grant::AccessClass;
use gatehouse_model::{ApprovalId, ApprovalRequest, CallHash, UserError, message};
use serde_json::value::RawValue;

use super::approval_queue::ApprovalQueue;
use super::errors::{bad_request, stale_answer};

/// A sampling request that waits for the user.
pub struct SamplingToAnswer {
    pub server: ServerSummary,
    /// The params as the server sent them, with nothing masked: what the user approves is that a model gets them. Not for
    /// a window.
    pub params: Arc<RawValue>,
}

/// A call that waits for the user, as far as a model may see it.
pub struct CallToJudge {
    /// Name of the server.
    pub server: String,
    /// Title of the tool, or what else is to be used, cleaned of hidden characters.
    pub title: String,
    /// What the server says of the tool, cleaned.
    pub description: Option<String>,
    pub class: AccessClass,
    /// All arguments, as the user is shown them: whole, with secrets masked.
    pub arguments: Vec<ShownArgument>,
}

impl ApprovalQueue {
    /// A pending sampling request, for a model that is to write an answer to it.
    ///
    /// # Errors
    /// [`gatehouse_model::ErrorCode::StaleAnswer`] if the request has ended or is being answered;
    /// [`gatehouse_model::ErrorCode::BadRequest`] if it is about something else.
    pub fn sampling_to_answer(&self, id: &ApprovalId) -> Result<SamplingToAnswer, UserError> {
        let mut approvals = self.state.approvals.lock();
        let queued = approvals.get(id).filter(|queued| !queued.is_answering).ok_or_else(stale_answer)?;
        let (ApprovalRequest::Sampling(request), Some(params)) = (&queued.request, &queued.sampling_params)
        else {
            return Err(bad_request(message!("error.tools.notAboutSampling")));
        };
        Ok(SamplingToAnswer { server: request.server.clone(), params: Arc::clone(params) })
    }

    /// A pending call, for a model that is to give an opinion about it.
    ///
    /// # Errors
    /// [`gatehouse_model::ErrorCode::StaleAnswer`] if the request has ended or shows another call now;
    /// [`gatehouse_model::ErrorCode::BadRequest`] if it isn't about a call.
    pub fn call_to_judge(&self, id: &ApprovalId, hash: &CallHash) -> Result<CallToJudge, UserError> {
        let mut approvals = self.state.approvals.lock();
        let queued = approvals.get(id).ok_or_else(stale_answer)?;
        let source = queued.pending_call();
        let pending_call =
            source.cloned().ok_or_else(|| bad_request(message!("error.tools.notAboutCall")))?;
        let (ApprovalRequest::Call(call), Some(details)) = (&queued.request, &queued.details) else {
            return Err(stale_answer());
        };
        if pending_call.approval_hash != *hash || call.hash != *hash {
            return Err(stale_answer());
        }
        Ok(CallToJudge {
            server: call.server.name.clone(),
            title: call.title.clone(),
            description: pending_call.origin.tool().and_then(|tool| tool.description.clone()),
            class: call.class.class,
            arguments: details.arguments.clone(),
        })
    }
}
