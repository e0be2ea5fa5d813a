//! Tokens in use: handing them out, renewing them ahead of time, what to do when a server refuses one, scope
//! upgrades, and revocation at sign-out.
//!
//! Must never return a token that the server refused before, and never renew outside of the renewal lock.

pub(crate) mod refresh;
pub(crate) mod sign_out;
pub(crate) mod step_up;
pub(crate) mod unauthorized;
