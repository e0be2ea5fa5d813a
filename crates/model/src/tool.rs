//! Tools as shown to users and used by policies.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::grant::{AccessClassification, ToolPermission};
use crate::id::{Fingerprint, Generation, ServerId};

/// One tool of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Name that clients use: `^[a-zA-Z0-9_-]{1,64}$`, unique, stable (TOOL-2).
    pub exposed_name: String,
    pub server: ServerId,
    /// The server's generation.
    pub generation: Generation,
    /// The server's name.
    pub server_name: String,
    /// Name on the server.
    pub name: String,
    /// Title, cleaned (TOOL-4).
    pub title: Option<String>,
    /// Description, cleaned (TOOL-4).
    pub description: Option<String>,
    /// Input schema as JSON text, byte for byte as the server gave it.
    pub input_schema: String,
    /// Access class with its reason.
    pub class: AccessClassification,
    /// What happens with calls of it, whoever makes them.
    pub permission: ToolPermission,
    /// Fingerprint of the definition.
    pub fingerprint: Fingerprint,
    /// How many definitions of it the allows that are in force were given for, each approved by a person; 0 if it
    /// isn't allowed at all.
    pub approved_versions: u32,
    /// Hidden characters in names, keys, enum, const or default values: where.
    pub flags: Vec<String>,
}

/// A tool that a server lists and that clients do not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OmittedTool {
    pub server: ServerId,
    /// The server's name.
    pub server_name: String,
    /// Name on the server, as far as it has one; hidden characters are shown by their numbers.
    pub name: String,
    /// Why, in one sentence.
    pub reason: String,
}
