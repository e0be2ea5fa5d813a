//! The path of a call: parsed strictly, resolved, judged, approved if no rule decides, judged again, sent, and
//! recorded.
//!
//! Nothing reaches a server in another way. Every exit that isn't an allow is a refusal: errors, time-outs and a
//! lost UI never run a call. The bytes that are sent are those that were hashed and shown.

mod approval_flow;
mod call_pipeline;
pub(crate) mod call_recorder;
mod call_state;
pub(crate) mod client_request;
pub(crate) mod client_timeout;
mod input_required;
pub(crate) mod pipeline_state;
mod progress;
pub(crate) mod refusal_messages;
mod resolve;
mod running_calls;
pub(crate) mod server_requests;
pub(crate) mod strict_params;
pub(crate) mod task_requests;
mod upstream_call;
