//! Who may connect: the sealed list of clients, their tokens, also those by OAuth, and how each client identifies
//! itself.
//!
//! Knows no protocol message, session or connection. Never stores or logs a token, and grants no access before the
//! change is on disk.

pub(crate) mod bridge_bindings;
pub(crate) mod capabilities;
pub(crate) mod client_info;
pub(crate) mod client_state;
pub(crate) mod disk;
pub(crate) mod oauth_tokens;
pub(crate) mod registry;
pub(crate) mod token;
pub(crate) mod tool_list_use;
