//! Where servers come from: the settings files of other AI applications, bundles, the MCP registry, `gatehouse://` links,
//! and exported configurations.
//!
//! Nothing here starts a program, asks a person or reads the process's environment: the base folders are passed in
//! ([`BaseFolders`]), so that tests never see the files of whoever runs them. Of all modules only `registry` uses the
//! network, and only to read what a form is then filled with; and only
//! `connect` writes settings of other applications, after it showed what.

mod apps;
mod base_folders;
mod bundle;
pub mod configuration;
pub mod connect;
mod diff;
mod documents;
pub mod import;
mod link;
mod read_document;
mod registry;

pub use apps::{AppSettings, FileFormat, ServersPlace};
pub use base_folders::{BaseFolders, System};
pub use bundle::{
    BundleError, BundleFile, BundleMachine, BundlePlaces, BundleStore, ManifestError, OptionProblem,
};
pub use documents::{Document, DocumentError};
pub use gatehouse_model::App;
pub use link::{AddLinkError, read_link};
pub use registry::{
    McpRegistry, RegistryChoice, RegistryError, RegistryLimits, RegistryQuery, registry_address,
};
