//! The list of servers: loading it at the start, putting changes into effect, edits of the file by hand,
//! and the secrets that belong to servers.

pub(crate) mod apply;
pub(crate) mod first_start;
pub(crate) mod reload;
pub(crate) mod secrets;
