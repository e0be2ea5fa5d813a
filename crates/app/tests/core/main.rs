//! The core as a whole, on real data folders and with built-in servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod authority;
#[cfg(unix)]
mod cancellation;
mod common;
mod configuration;
mod lifecycle;
mod models;
mod practice;
mod proposals;
mod queries;
mod removals;
mod servers;
mod settings;
