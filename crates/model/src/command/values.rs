//! Types that nothing but commands has in its arguments and replies.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::client::ClientView;
use crate::error::UserError;
use crate::id::RemovalId;
use crate::secret::Secret;

/// A secret inside a request: unlike [`Secret`] it is written out, since it has to reach the core.
#[derive(Clone, Deserialize, TS)]
#[serde(transparent)]
#[ts(as = "String")]
pub struct RequestSecret(String);

impl RequestSecret {
    #[must_use]
    pub fn new(secret: &Secret) -> Self {
        Self(secret.reveal().to_owned())
    }

    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Serialize for RequestSecret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl std::fmt::Debug for RequestSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(crate::secret::REDACTED)
    }
}

/// A secret for one field of one server, on its way into the store of secrets.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldSecret {
    /// The field that it may serve and no other: `env/NAME`, `headers/NAME`, `signIn/secret`,
    /// `signIn/companySecret` or `signIn/key`.
    pub field: String,
    pub value: RequestSecret,
}

/// A client with its token, which is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MintedClient {
    pub client: ClientView,
    /// Its token: 256 random bits in base64url.
    pub token: RequestSecret,
    /// Whether the bridge finds it in the keychain already: the client is that of an application that is connected.
    pub is_kept: bool,
    /// Address of the gateway, for all servers.
    pub endpoint: String,
    /// Address for one server by itself: `NAME` stands for the server's name, percent-encoded.
    pub server_endpoint: String,
    /// Address for clients that speak only the older HTTP+SSE.
    pub sse_endpoint: String,
}

/// What narrows the requests of one bridge.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BridgeBinding {
    /// What the bridge sends with each request in the header `Gatehouse-Binding`: 256 random bits in base64url.
    pub credential: RequestSecret,
    /// Seconds until it counts no more.
    pub expires_in: u32,
    /// The folder that it is bound to, if the system tells in which folder the bridge works.
    pub folder: Option<String>,
}

/// How a practice request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PracticeResult {
    /// Whether the call was allowed and ran.
    pub is_allowed: bool,
}

/// A removal that `removals.undo` can still undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Removal {
    pub id: RemovalId,
    /// Seconds for which it can be undone.
    pub seconds: u32,
}

/// A new operator key, which is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RotatedKey {
    /// 256 random bits in base64url.
    pub key: RequestSecret,
}

/// What a call answered.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallReply {
    /// The result or the error, as JSON text, byte for byte.
    pub body: String,
    /// Whether `body` is a JSON-RPC error.
    pub is_rpc_error: bool,
    /// Whether `body` is a result with `isError`.
    pub is_tool_error: bool,
}

/// Form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One JSON object a line.
    JsonLines,
    /// Comma-separated values (RFC 4180) with a header.
    Csv,
}

/// Form of an export of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallExportFormat {
    /// One JSON object a line: the record.
    JsonLines,
    /// Comma-separated values (RFC 4180) with a header. A field that a spreadsheet would take for a formula begins with
    /// an apostrophe.
    Csv,
    /// An HTTP archive (HAR 1.2), in which each call is a request and its response.
    Har,
}

/// Calls that were written to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedCalls {
    pub path: String,
    /// How many.
    #[ts(type = "number")]
    pub calls: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedText {
    pub text: String,
}

/// A conversation as Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedConversation {
    pub markdown: String,
    /// Where it was written, if it was.
    pub path: Option<String>,
}

/// What runs, what waits, what is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Version of Gatehouse.
    pub version: String,
    /// Address of the gateway.
    pub endpoint: String,
    /// Folder that everything is kept in.
    pub data_dir: String,
    /// Process id.
    pub pid: u32,
    /// Who answers approval requests: `window` or `operator`.
    pub answered_by: String,
    /// Where secrets are kept: `keychain`, `vault` or `memory`.
    pub secrets: String,
    /// Whether everything is paused.
    pub paused: bool,
    /// Whether MCP is on; while it is off no server runs and every call is refused.
    pub switched_on: bool,
    /// Servers that run.
    pub running: u32,
    /// Servers in all.
    pub servers: u32,
    /// Tools in the catalogue.
    pub tools: u32,
    /// Clients that have a token.
    pub clients: u32,
    /// Approval requests that wait.
    pub waiting: u32,
    /// Sequence number of the last event.
    #[ts(type = "number")]
    pub last_event: u64,
    /// What is wrong, in words.
    pub problems: Vec<UserError>,
}
