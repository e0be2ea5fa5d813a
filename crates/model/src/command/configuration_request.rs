//! What a user decides about a configuration that is imported (DATA-4).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::import_request::ImportAction;
use super::values::{FieldSecret, RequestSecret};

/// Where a configuration is read from.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ConfigurationOrigin {
    /// A file, by its absolute path.
    File(String),
    /// Its text.
    Text(RequestSecret),
}

/// What is to become of one part of a configuration. Those that are not chosen are left alone.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigurationChoice {
    /// Its place in the configuration.
    pub index: u32,
    /// Permissions are added, and settings overwritten.
    pub action: ImportAction,
    /// Values of the secrets that its fields refer to. Those that are not given can be entered later.
    #[serde(default)]
    pub secrets: Vec<FieldSecret>,
}
