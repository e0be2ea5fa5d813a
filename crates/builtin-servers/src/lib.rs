//! The built-in servers (SRV-17): time, notes, files and fetch.
//!
//! They answer MCP requests in this process, without a transport. Like all servers they are called
//! only after the policy has allowed the call. A built-in server never starts a process, and reaches
//! only what its settings name: one folder, its own notes, public web pages.

mod connection;
mod fetch;
mod files;
mod folder;
mod notes;
mod time;
mod tool;

pub use connection::{BuiltinConnection, BuiltinContext};
pub use fetch::PublicDownloads;
