//! Sign-in data of each server: what is in the secret store, its copy in memory, and the state that the user
//! sees. Changes are written to the audit log before they take effect.
//!
//! Must never talk to an authorization server, and never return a stored sign-in for another resource or
//! another identity of the server.

pub(crate) mod renewal_lock;
pub(crate) mod session_state;
pub(crate) mod sessions;
pub(crate) mod token_store;
