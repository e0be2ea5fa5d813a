//! The path of a call: parsed strictly, resolved, judged, approved if no rule decides, judged again, sent, and
//! recorded.
//!
//! Nothing reaches a server in another way. Every exit that isn't an allow is a refusal: errors, time-outs and a
//! lost UI never run a call. The bytes that are sent are those that were hashed and shown.

pub(crate) mod approval_flow;
pub(crate) mod call_pipeline;
pub(crate) mod call_record;
pub(crate) mod client_request;
pub(crate) mod client_timeout;
pub(crate) mod input_required;
pub(crate) mod progress;
pub(crate) mod refusal_messages;
pub(crate) mod running_calls;
pub(crate) mod server_requests;
pub(crate) mod upstream_call;
