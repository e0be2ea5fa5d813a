//! The composition root: builds the subsystems of Gatehouse, owns their shutdown, and offers one typed
//! command facade to the windows, the control socket and tests. It depends on no window and no terminal,
//! and contains no rules about what may run: those are in the policy crate.

mod app_folders;
mod audit_log;
mod authority;
mod bridge_command;
mod bridge_keychain;
mod chat_tools;
mod client_documents;
mod command_service;
pub mod control;
mod core;
mod disk_work;
mod downloads;
pub mod events;
pub mod logging;
mod models;
mod programs;
mod project_requests;
mod redact;
mod removals;
mod results;
mod retention;
mod server_configs;
mod server_icons;
mod settings;
mod state;

pub use self::core::{Core, CoreOptions};
pub use authority::operator_key::{KeyHandOver, OperatorKey, OperatorKeyState};
pub use events::{EventStream, StreamEvent};
pub use gatehouse_model::command::Authority;
pub use gatehouse_servers::run_helper_if_requested;
pub use gatehouse_store::{
    BridgeTokens, CallExporter, Owner, SecretError, SecretStore, SecretStoreKind, has_vault, make_vault,
    memory, open_keychain, open_vault, prepare_folder, unlock_vault, vault_file,
};
pub use programs::helper_program;
