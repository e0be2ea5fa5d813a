//! Persistence: `servers.json`, secrets, sealed permissions, the audit and the call records.
//!
//! Everything that grants something is either sealed ([`Sealed`]) or a secret in the [`SecretStore`]. The
//! rest of a data folder can be edited or replaced by anyone who can write files, and is only trusted as far
//! as the seals reach. This crate doesn't evaluate permissions, ask the user, resolve secret references or
//! use the network.
//!
//! Every call blocks for as long as the disk or the keychain takes, except [`Activity::record`]. Async
//! callers wrap them in `spawn_blocking`.

mod activity;
mod audit;
mod data_folder;
mod definitions;
mod error;
mod random;
mod sealed;
mod secrets;
mod servers_file;
mod store;

pub use activity::{Activity, Retention};
pub use audit::{Audit, AuditFormat};
pub use data_folder::folder::prepare as prepare_folder;
pub use data_folder::owner::Owner;
pub use definitions::DefinitionStore;
pub use error::{SealError, SecretError, StoreError};
pub use gatehouse_model::record::AuditVerdict;
pub use sealed::control_keys::{ControlKey, ControlKeys};
pub use sealed::record::Sealed;
pub use secrets::key::{SecretKey, generations};
pub use secrets::secret_store::{SecretStore, SecretStoreKind};
pub use secrets::{has_vault, make_vault, memory, open_keychain, open_vault, unlock_vault, vault_file};
pub use servers_file::{
    ConfigProblem, EntryText, HandEdit, LoadedServers, ServersFile, SettingsView, WatchGuard, is_secret_name,
    validate_draft, validate_name, validate_secrets,
};
pub use store::{Store, StoreOptions};
