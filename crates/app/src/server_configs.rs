//! The list of servers: loading it at the start, putting changes into effect, edits of the file by hand,
//! and the secrets that belong to servers.
//!
//! Must never put a hand edit into effect that the user has not accepted, and never return a stored secret.

pub(crate) mod apply;
pub(crate) mod bundles;
pub(crate) mod first_start;
pub(crate) mod reload;
pub(crate) mod removals;
pub(crate) mod secrets;
