//! Pure decisions about tool calls: what may run, what has to be asked, what is refused, and how a
//! call is shown to the person who is asked.
//!
//! Nothing here does input or output, reads a clock, knows a task or a window; whatever a decision
//! depends on is passed in. Deny is the default: what cannot be read, resolved or compared never
//! counts in favour of a call.

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
