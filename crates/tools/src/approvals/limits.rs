//! Limits of the approval queue: how long, how many, and how large. Sizes are counted here; nothing is decided
//! about a request.

use std::time::Duration;

use gatehouse_model::approval::{CallDetails, ElicitationMode, ShownArgument};
use gatehouse_model::{ApprovalRequest, CallApprovalRequest};

/// Time-outs and limits of approval requests.
#[derive(Clone, Debug)]
pub struct ApprovalLimits {
    /// Without an answer within this time, a call is denied.
    pub answer_deadline: Duration,
    /// Initial client time-out estimate: after this time a client is told to call again. What was learned of a
    /// client can make it shorter, or longer if the client gets progress notifications.
    pub client_timeout: Duration,
    /// Interval of progress notifications to a client that waits for the user.
    pub progress_interval: Duration,
    /// How long a request stays pending after its last call has left, and how long a late answer is valid.
    pub late_answer_ttl: Duration,
    /// Maximum number of pending requests per client.
    pub max_pending_per_client: usize,
}

impl Default for ApprovalLimits {
    fn default() -> Self {
        Self {
            answer_deadline: Duration::from_secs(600),
            client_timeout: Duration::from_secs(50),
            progress_interval: Duration::from_secs(10),
            late_answer_ttl: Duration::from_secs(600),
            max_pending_per_client: 64,
        }
    }
}

/// Most bytes of arguments of pending calls: per client, and in total. A call may have 16 MiB, and a client
/// may have 64 pending calls.
pub(super) const CLIENT_BYTES: usize = 32 * 1024 * 1024;
pub(super) const ALL_BYTES: usize = 128 * 1024 * 1024;

/// Most bytes of approval requests that one reply contains with their details. A larger request is returned
/// with details only if it is the first with details in its reply, so that every request can be fetched.
pub(super) const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Assumed overhead of one argument in memory and in a reply, in bytes, besides its name and text: many small
/// arguments take memory too.
const ARGUMENT_OVERHEAD: usize = 64;

/// Most bytes of all pending requests that aren't about calls. A server may send 64 of 1 MiB each.
pub(super) const SERVER_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// The queue has no room for another request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueFull {
    /// This client has the maximum number (given here) of pending requests.
    Count(usize),
    /// The pending requests are too large.
    Bytes,
}

/// Bytes of the arguments as shown.
pub(crate) fn shown_bytes(arguments: &[ShownArgument]) -> usize {
    arguments.iter().map(|argument| argument.name.len() + argument.text.len()).sum()
}

/// Bytes of an approval request for a call: its arguments with their overhead, its choices and conditions, and
/// the announced part.
pub(super) fn call_size(announced: &CallApprovalRequest, details: &CallDetails) -> usize {
    let CallDetails { arguments, choices, denials, conditions } = details;
    let rest = serde_json::to_vec(&(announced, choices, denials, conditions));
    // A request that can't be serialized counts as too large.
    let rest = rest.map_or(usize::MAX, |text| text.len());
    let overhead = arguments.len().saturating_mul(ARGUMENT_OVERHEAD);
    rest.saturating_add(shown_bytes(arguments)).saturating_add(overhead)
}

/// Bytes of a request that isn't about a call.
pub(super) fn request_size(request: &ApprovalRequest) -> usize {
    match request {
        ApprovalRequest::Elicitation(elicitation) => {
            elicitation.message.len()
                + match &elicitation.want {
                    ElicitationMode::Form { schema } => schema.len(),
                    ElicitationMode::Url { url, .. } => url.len(),
                }
        }
        ApprovalRequest::Sampling(sampling) => {
            let shown = sampling.messages.iter().chain(&sampling.system).map(String::len).sum::<usize>();
            sampling.request.len().saturating_add(shown)
        }
        // A request that can't be serialized counts as too large.
        ApprovalRequest::Command(command) => {
            serde_json::to_vec(command).map_or(SERVER_REQUEST_BYTES, |text| text.len())
        }
        ApprovalRequest::Call(_)
        | ApprovalRequest::Client(_)
        | ApprovalRequest::ConfigChange(_)
        | ApprovalRequest::StepUp(_) => 0,
    }
}
