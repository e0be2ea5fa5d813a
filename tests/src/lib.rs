//! Shared code of the integration tests: a real Gatehouse, real clients, a user, raw requests.
//!
//! Must never replace the core with a mock, and never touch the developer's own Gatehouse, keychain or
//! desktop.

mod administrator;
pub mod approvals;
pub mod authorizing_forwarder;
pub mod bridge;
pub mod browser_host;
pub mod child_process;
pub mod client;
pub mod compat;
pub mod conformance;
pub mod conformance_endpoints;
pub mod conversation;
pub mod eventually;
pub mod fixture;
pub mod fixture_server;
pub mod folder_search;
pub mod gatehouse;
pub mod generated;
pub mod http;
pub mod mcp_registry;
#[cfg(target_os = "linux")]
pub mod newcomer;
pub mod oidc;
pub mod paths;
#[cfg(target_os = "linux")]
pub mod process_usage;
pub mod pty;
pub mod scripted_provider;
pub mod session_client;
pub mod sign_in;
pub mod sse_stream;
pub mod stored_calls;
#[cfg(target_os = "linux")]
pub mod update_server;
#[cfg(target_os = "linux")]
pub mod walkthrough;
#[cfg(target_os = "linux")]
pub mod window;
