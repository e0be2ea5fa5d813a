//! Shared code of the integration tests: a real Gatehouse, real clients, a user, raw requests.

mod administrator;
pub mod asks;
pub mod client;
pub mod conformance;
pub mod door;
pub mod fixture;
pub mod gatehouse;
pub mod http;
pub mod lines;
pub mod oidc;
pub mod places;
pub mod server;
pub mod sign_in;
#[cfg(target_os = "linux")]
pub mod story;
#[cfg(target_os = "linux")]
pub mod window;
