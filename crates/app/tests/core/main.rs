//! The core as a whole, on real data folders and with built-in servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
mod life;
mod readings;
mod rights;
mod servers;
mod settings;
