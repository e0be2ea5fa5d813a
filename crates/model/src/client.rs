//! AI clients that may connect to the gateway (GATE-3).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::ClientId;
use crate::time::Timestamp;

/// One client as it is kept: the token itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientEntry {
    pub id: ClientId,
    /// The name that the user gave it; unique.
    pub name: String,
    /// SHA-256 of the token, lower-case hexadecimal.
    pub token_sha256: String,
    /// When the token was made.
    pub created: Timestamp,
}

/// One client as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientView {
    pub id: ClientId,
    /// The name that the user gave it.
    pub name: String,
    /// When its token was made.
    pub created: Timestamp,
    /// What it last said of itself.
    pub says: Option<String>,
    /// When it was last seen since Gatehouse started.
    pub last_seen: Option<Timestamp>,
    /// Open sessions of the stateful revisions.
    pub sessions: u32,
}
