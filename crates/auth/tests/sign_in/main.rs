//! Signing in, against a small authorization server with switches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod audit;
mod browser_login;
mod client_credentials;
mod client_identity;
mod discovery;
mod enterprise_auth;
mod scripted_issuer;
mod secret_leaks;
mod sign_out;
mod step_up;
mod test_env;
mod token_refresh;
mod unauthorized;
