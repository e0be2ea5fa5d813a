//! Logins: from the user's wish to sign in to a stored sign-in, usually through the browser. Each attempt has
//! its own loopback listener, `state`, nonce and code verifier, which are dropped with it.
//!
//! Must never open the browser unless the caller states that the user asked for it, and never accept a second
//! response to an attempt.

pub(crate) mod attempts;
pub(crate) mod authorization_url;
pub(crate) mod browser_login;
pub(crate) mod callback;
pub(crate) mod callback_page;
pub(crate) mod enterprise_login;
pub(crate) mod listener;
pub(crate) mod login_service;
