//! The store from outside, as a specification: each file one part of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod activity;
mod audit;
mod call_statistics;
mod conversations;
mod fixture;
mod keychain;
mod known_lists;
mod leftovers;
mod sealed;
mod servers;
mod sessions;
mod settings;
mod validation;
mod vault;
mod watching;
