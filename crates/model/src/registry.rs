//! What windows and the command line see of the MCP registry and of `gatehouse://` links (UI-2): entries, the ways to run
//! them with what has to be entered for each, and the settings that this comes to. Texts of the registry are cleaned and
//! bounded already. Secrets that are entered are in none of these types: they stay with whoever asked for them.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use ts_rs::TS;

use crate::composed_secret::ComposedSecret;
use crate::error::UserError;
use crate::message::Message;
use crate::server::ServerDraft;
use crate::time::Timestamp;

/// What every link begins with.
pub const LINK_SCHEME: &str = "gatehouse://";
/// Longest link that is read, in bytes.
pub const MAX_LINK_BYTES: usize = 8 * 1024;

/// A page of entries, or all versions of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryPage {
    /// In the order of the registry; versions newest first.
    pub entries: Vec<RegistryEntry>,
    /// Where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Entries that are left out because they can't be read.
    pub omitted: u32,
    /// When the registry answered this.
    pub fetched_at: Timestamp,
    /// Why this is an earlier answer of the registry; absent if it is a present one.
    pub offline: Option<UserError>,
}

/// One version of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryEntry {
    /// Its name, as in `io.github.user/weather`.
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub version: String,
    pub is_latest: bool,
    pub status: RegistryStatus,
    /// What the publisher says about the status.
    pub status_message: Option<String>,
    /// When it was published, in RFC 3339.
    pub published_at: Option<String>,
    /// Address of its source code; https.
    pub repository: Option<String>,
    /// Address of its home page; https.
    pub website: Option<String>,
    /// The ways to run it or to reach it.
    pub options: Vec<RegistryOption>,
}

/// Status of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RegistryStatus {
    #[default]
    Active,
    Deprecated,
    Deleted,
}

/// One way to run the server of an entry, or to reach it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryOption {
    /// Unique among the options of the entry.
    pub id: String,
    pub kind: RegistryOptionKind,
    /// The package or the address.
    pub label: String,
    /// What is entered for it.
    pub inputs: Vec<RegistryInput>,
    /// Why Gatehouse makes no settings of it.
    pub unusable: Option<Message>,
    /// SHA-256 of the bundle's file in hexadecimal, as the entry says; absent for all others.
    pub file_sha256: Option<String>,
}

/// What a [`RegistryOption`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum RegistryOptionKind {
    /// A package of npm.
    Npm,
    /// A package of PyPI.
    Pypi,
    /// A container image.
    Oci,
    /// A package of NuGet.
    Nuget,
    /// An MCP bundle.
    Mcpb,
    /// A remote server that speaks Streamable HTTP.
    Http,
    /// A remote server that speaks HTTP+SSE.
    Sse,
    /// Something that Gatehouse doesn't know.
    Other,
}

impl RegistryOptionKind {
    /// Its word on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One thing that is entered for an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryInput {
    /// Unique among the inputs of the option; the name that people know it by, as far as possible.
    pub id: String,
    pub description: Option<String>,
    pub required: bool,
    /// A secret. Its value doesn't go into the settings, but into the store of secrets.
    pub secret: bool,
    /// A secret that becomes part of the command or of the address, where it stands in plain text.
    pub plain_secret: bool,
    pub format: RegistryInputFormat,
    pub default: Option<String>,
    /// An example.
    pub placeholder: Option<String>,
    /// The only values that it may have; any where empty.
    pub choices: Vec<String>,
    /// It may have several values, one a line.
    pub repeated: bool,
}

/// What the value of an input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RegistryInputFormat {
    #[default]
    String,
    Number,
    /// `true` or `false`.
    Boolean,
    /// A path on this computer.
    Filepath,
}

/// Settings that were made of an option. Nothing is added yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryDraft {
    pub draft: ServerDraft,
    /// The secrets that the draft refers to.
    pub secrets: Vec<ComposedSecret>,
}

/// What the registry says about a server that came from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryReport {
    /// Status of the version that the server has; absent if the registry doesn't have the version.
    pub status: Option<RegistryStatus>,
    pub status_message: Option<String>,
    /// A newer version; absent if the server has the newest one.
    pub update: Option<RegistryUpdate>,
}

/// A version that a server can change to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RegistryUpdate {
    pub version: String,
    /// Whether it is known to be newer; versions that are no semantic ones can only differ.
    pub is_newer: bool,
    /// The server's settings with that version; absent if they name no package or address of the entry any more.
    pub draft: Option<ServerDraft>,
}

/// What a `gatehouse://` link says. It is only ever filled into the form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum LinkContent {
    /// Settings of a server.
    #[serde(rename_all = "camelCase")]
    Server {
        draft: Box<ServerDraft>,
        /// The fields whose secrets a person has to enter, as in `FieldSecret`. A link never brings the secret itself.
        secrets: Vec<String>,
        /// Whether the link had values for them, which are left out.
        had_secrets: bool,
    },
    /// An entry of the registry.
    #[serde(rename_all = "camelCase")]
    Registry { name: String, version: Option<String> },
}
