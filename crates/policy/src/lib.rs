//! Pure decisions about tool calls: what is allowed, what needs an approval, what is denied, and how a call is
//! shown to the user who decides.
//!
//! This crate does no I/O, reads no clock, and has no tasks; everything a decision depends on is passed in.
//! Deny is the default: what can't be parsed, resolved or compared never counts in favour of a call.

pub mod access;
pub mod call_hash;
pub mod conditions;
pub mod coverage;
pub mod definition;
pub mod display;
pub mod findings;
pub mod rule_messages;
pub mod verdict;

mod secrets;
mod uri_destination;
mod uri_fold;

pub use gatehouse_mcp_wire::json;
