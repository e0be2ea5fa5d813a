//! Approvals: the queue of requests that wait for the user, what a request for a call shows and offers, and what
//! becomes of an answer.
//!
//! Nothing here sends a call or knows the call pipeline. Without an answer, after an error and after a loss of the
//! UI a request counts as denied. An answer is valid only for the request that was shown, and takes effect only
//! after it is written to the audit.

mod answers;
mod approval_queue;
mod approval_table;
mod choices_and_warnings;
mod errors;
mod expiry;
mod limits;
mod model_input;
mod outcome;
mod proposals;
mod request_builder;
mod usage_history;

pub use approval_queue::ApprovalQueue;
pub(crate) use approval_queue::{ApprovalQueueDeps, CallWaiter};
pub use limits::ApprovalLimits;
pub(crate) use limits::QueueFull;
pub use model_input::{CallToJudge, SamplingToAnswer};
pub(crate) use outcome::{CallApprovalOutcome, OneTimeApproval, WaitBudget};
pub(crate) use request_builder::{ApprovalRequestBuilder, UndecidedCall};
pub(crate) use usage_history::UsageHistory;
