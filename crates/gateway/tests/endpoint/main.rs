//! The endpoint from outside: real HTTP against a gateway whose tools are scripted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod client_registry;
mod fixture;
mod real_clients;
mod rejections;
mod resources_and_prompts;
mod stateful;
mod stateless;
