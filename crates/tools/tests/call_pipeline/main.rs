//! The call pipeline from outside: a real store and real servers; the test answers as the user.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, reason = "tests")]

mod approval_answers;
mod auto_approve;
mod client_timeouts;
mod harness;
mod health;
mod known_lists;
mod late_answers;
mod paths;
mod pause;
mod permissions;
mod profiles;
mod server_questions;
mod simulation;
mod unbound_grants;
mod upstream;
mod varying_definitions;
