//! Signing in, against a small authorization server with switches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod alone;
mod audit;
mod company;
mod discovery;
mod flow;
mod identity;
mod issuer;
mod leaks;
mod out;
mod refusals;
mod step_up;
mod tokens;
mod world;
