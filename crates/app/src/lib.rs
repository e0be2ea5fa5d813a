//! The composition root: builds the parts of Gatehouse in their order, owns their shutdown, and
//! offers one typed command facade to windows, the control socket and tests. It knows no window
//! and no terminal, and it holds no rules of its own about what may run: those are policy's.

mod audit_log;
mod authority;
pub mod control;
mod core;
pub mod events;
mod facade;
mod first_start;
mod hand_edits;
pub mod logging;
mod operator;
mod redact;
mod results;
mod settings;

pub use self::core::{Core, CoreOptions};
pub use events::{EventStream, Heard};
pub use gatehouse_model::command::Authority;
pub use gatehouse_servers::run_helper_if_asked;
pub use gatehouse_store::{
    Owner, SecretError, SecretKind, SecretStore, has_vault, make_vault, memory, open_keychain, open_vault,
    prepare_folder, unlock_vault, vault_file,
};
pub use operator::{HandOver, OperatorKey, OperatorKeyState};
