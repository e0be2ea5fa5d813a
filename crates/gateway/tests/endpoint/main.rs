//! The endpoint from outside: real HTTP against a gateway whose tools are scripted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access_requests;
mod bridge_bindings;
mod client_registry;
mod fixture;
mod http_sse;
mod oauth;
mod real_clients;
mod rejections;
mod resources_and_prompts;
mod rest;
mod resumed_sessions;
mod routes;
mod scripted_tools;
mod stale_lists;
mod stateful;
mod stateless;
