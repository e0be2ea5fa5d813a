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
mod conversations;
mod csv;
mod data_folder;
mod definitions;
mod error;
mod full_text;
mod known_lists;
mod random;
mod sealed;
mod secrets;
mod servers_file;
mod sessions;
mod store;
mod tool_index;

pub use activity::{Activity, CallExporter, Retention, RuleUse, ServerUse};
pub use audit::{Audit, AuditFormat};
pub use conversations::{ConversationStore, SavedBlock, StoredConversation, StoredMessage};
pub use data_folder::folder::prepare as prepare_folder;
pub use data_folder::owner::Owner;
pub use definitions::DefinitionStore;
pub use error::{SealError, SecretError, StoreError};
pub use gatehouse_model::record::AuditVerdict;
pub use known_lists::KnownLists;
pub use sealed::control_keys::{ControlKey, ControlKeys};
pub use sealed::record::Sealed;
pub use secrets::bridge_tokens::BridgeTokens;
pub use secrets::key::{SecretKey, generations};
pub use secrets::secret_store::{SecretStore, SecretStoreKind};
pub use secrets::{has_vault, make_vault, memory, open_keychain, open_vault, unlock_vault, vault_file};
pub use servers_file::{
    ConfigProblem, EntryText, HandEdit, LoadedServers, PROJECT_FILE, PortableEntry, ProjectFile,
    ProjectServerEntry, ServersFile, SettingsView, WatchGuard, changed_settings_text, check_hidden_values,
    diff_settings, fill_kept_values, holds_secret, list_settings, portable_entry, project_change,
    read_project_file, redact_transport, secret_reference, settings_text, shown_value, to_server_name,
    validate_draft, validate_name, validate_secrets,
};
pub use sessions::{SavedSession, SavedSessionId, SessionSeal, SessionStore};
pub use store::{Store, StoreOptions};
pub use tool_index::{ToolIndex, ToolText};
