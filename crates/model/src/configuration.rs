//! The export and import of everything but secrets (DATA-4), as people see it: what a configuration has, what of it is
//! here already, and what came of importing it. Values of secrets are in none of it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::error::UserError;
use crate::import::{ImportInput, ImportedSetting};
use crate::message::Message;

/// The configuration as a text that can be kept and imported elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedConfiguration {
    /// A JSON document. Secrets are not in it.
    pub text: String,
    /// Path of the file that it was written to; absent if it was only to be read.
    pub file: Option<String>,
    /// What is not in it, apart from secrets.
    pub left_out: Vec<Message>,
}

/// What a configuration has to import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationContent {
    /// SHA-256 of the content, for `configuration.import`.
    pub fingerprint: String,
    /// Path of the file; absent for a text.
    pub file: Option<String>,
    /// Servers first, then profiles, clients, permissions, settings and model providers: each may name what comes before it.
    pub items: Vec<ConfigurationItem>,
}

/// One part of a configuration that can be imported by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationItem {
    /// Its place in the configuration, from 0.
    pub index: u32,
    pub kind: ConfigurationItemKind,
    /// Name of a server, a profile, a client or a model provider; empty for all others.
    pub name: String,
    /// What it is or does, in words.
    pub summary: Option<Message>,
    /// Everything else that it says.
    pub details: Vec<ImportedSetting>,
    /// Whether it lets something run without asking, or count as a read, or whether a model provider would have another
    /// address than here. It is imported only if it is chosen by itself.
    pub widens: bool,
    /// Values that are asked for.
    pub inputs: Vec<ImportInput>,
    /// Fields that refer to a stored secret: `env/NAME`, `headers/NAME`, `signIn/secret` and the like, and `key` of a model
    /// provider. A server without one of them is imported switched off.
    pub secrets: Vec<String>,
    /// What has its name here.
    pub conflict: Option<ConfigurationConflict>,
    /// Why it can't be imported; empty if it can.
    pub problems: Vec<Message>,
}

/// What a part of a configuration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ConfigurationItemKind {
    Server,
    Profile,
    Client,
    /// A permanent rule, an access class of a tool, or that the labels of a server are trusted.
    Permission,
    /// What is set for Gatehouse as a whole.
    Settings,
    ModelProvider,
}

/// Something here that a part of a configuration would stand beside or replace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationConflict {
    /// Whether it is the same, so that there is nothing to import.
    pub is_same: bool,
    /// A name under which both can be kept; absent where only one can be.
    pub free_name: Option<String>,
    /// Fields whose secret is stored here already, and stays if this is replaced.
    pub kept_secrets: Vec<String>,
}

/// What came of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationOutcome {
    /// How many parts were imported.
    pub imported: u32,
    /// Names of the servers that are switched off because a secret wasn't given.
    pub without_secrets: Vec<String>,
    /// Names of the clients that are new. Nobody has their tokens: each needs a new one.
    pub new_clients: Vec<String>,
    /// What could not be imported although it was valid, because of the disk or the keychain.
    pub problems: Vec<UserError>,
}
