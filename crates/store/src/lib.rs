//! What Gatehouse keeps: `servers.json`, secrets, sealed rights, the audit and the call records.
//!
//! Everything that confers a right is either sealed ([`Sealed`]) or a secret in the
//! [`SecretStore`]; the rest of a data folder may be edited or replaced by anybody who can write
//! files, and is believed only as far as the seals reach. Nothing here decides what may run, asks
//! a person, resolves a secret reference or knows the network.
//!
//! Every call blocks for as long as the disk or the keychain takes, except
//! [`Activity::record`]. Callers on an async executor wrap them in `spawn_blocking`.

mod activity;
mod audit;
mod control_keys;
mod database;
mod definitions;
mod error;
mod folder;
mod sealed;
mod secrets;
mod servers_file;
mod store;

pub use activity::{Activity, Retention};
pub use audit::{Audit, AuditFormat};
pub use control_keys::{ControlKey, ControlKeys};
pub use definitions::Definitions;
pub use error::{SealError, SecretError, StoreError};
pub use folder::prepare as prepare_folder;
pub use gatehouse_model::record::AuditVerdict;
pub use sealed::Sealed;
pub use secrets::{
    SecretKey, SecretKind, SecretStore, generations, has_vault, make_vault, memory, open_keychain,
    open_vault, unlock_vault, vault_file,
};
pub use servers_file::{HandEdit, LoadedServers, ServersFile, WatchGuard, check_server_name, is_secret_name};
pub use store::{Owner, Store, StoreOptions};
