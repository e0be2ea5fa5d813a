//! Bundles (UI-2): what a `.mcpb` file would install, as it is shown before anything is added, and the server that it
//! makes with the values that the user filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::composed_secret::ComposedSecret;
use crate::message::Message;
use crate::server::ServerDraft;

/// A bundle that was read. Nothing of it runs, and no server is added yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BundlePreview {
    /// Stands for its content in `bundles.configure`.
    pub bundle: String,
    /// Its name for people.
    pub name: String,
    pub version: String,
    pub description: String,
    /// Longer text about it, in Markdown, which is shown as it is written.
    pub long_description: Option<String>,
    pub author: Option<String>,
    /// The program that runs, with its arguments. `${user_config.KEY}` stands for an option's value.
    pub command: Vec<String>,
    /// Variables of the program, as in `command`.
    pub env: BTreeMap<String, String>,
    /// Where it was unpacked.
    pub folder: String,
    /// The tools that it says it has.
    pub tools: Vec<BundleTool>,
    /// Whether it says that it can have more.
    pub more_tools: bool,
    /// JSON schema of the options that are no secrets, as JSON text.
    pub options: String,
    /// The options that are secrets.
    pub secrets: Vec<BundleSecretOption>,
    pub signature: BundleSignature,
    /// Number of files in it.
    pub files: u32,
    /// Their size, in bytes.
    #[ts(type = "number")]
    pub bytes: u64,
    /// What keeps it from working here, or should be known.
    pub warnings: Vec<Message>,
    /// Why it can't be added at all.
    pub refused: Option<Message>,
}

/// A tool that a bundle says it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BundleTool {
    pub name: String,
    pub description: Option<String>,
}

/// An option of a bundle whose value is a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BundleSecretOption {
    pub key: String,
    pub title: String,
    pub description: Option<String>,
    pub required: bool,
}

/// What is known of a bundle's signature. That its signer is who the name says is never known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BundleSignature {
    /// There is none.
    None,
    /// The content is what was signed, with the key in a certificate for this name. Anyone can make one.
    Valid { signer: String },
    /// The content is not what was signed.
    Mismatch,
    /// It cannot be read, or its algorithm is not known.
    Unreadable,
}

/// The server of a bundle with its options filled in, for the form. Nothing was added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BundleServer {
    /// Secrets are references in it: `${secret:NAME}`.
    pub draft: ServerDraft,
    /// What each of those secrets is made of.
    pub secrets: Vec<ComposedSecret>,
}
