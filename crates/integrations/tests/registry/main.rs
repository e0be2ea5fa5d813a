//! The MCP registry and links from outside, as a specification: each file one part of it. Registries are real HTTP servers
//! on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod answers;
mod drafts;
mod fuzz;
mod links;
mod test_registry;
mod updates;
