//! Pure decisions about tool calls: what is allowed, what needs an approval, what is denied, and how a call is
//! shown to the user who decides.
//!
//! This crate does no I/O, reads no clock, and has no tasks; everything a decision depends on is passed in.
//! Deny is the default: what can't be parsed, resolved or compared never counts in favour of a call.

pub mod access;
pub mod conditions;
pub mod cover;
pub mod definition;
pub mod describe;
pub mod exact;
pub mod show;
pub mod verdict;

mod deeds;
mod places;
mod secrets;
mod uri_fold;
mod words;

pub use gatehouse_mcp_wire::json;
