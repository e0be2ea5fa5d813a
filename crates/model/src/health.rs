//! The health of permissions (UI-7): what nobody needs any more, as far as calls tell.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::{GrantId, ServerId};
use crate::message::Message;
use crate::time::Timestamp;

/// What is said of the permissions and servers. Nothing is said before calls were counted for 30 days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FindingsReport {
    /// Since when calls are counted.
    pub recorded_since: Timestamp,
    /// Allows that last until they are revoked.
    pub rules: Vec<RuleFinding>,
    /// Servers that are on and that nobody called for 30 days.
    pub servers: Vec<UnusedServer>,
}

/// What is said of one allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleFinding {
    pub rule: GrantId,
    /// The rule in words.
    pub sentence: Message,
    pub finding: FindingKind,
}

/// What there is to say of an allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "finding", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum FindingKind {
    /// It decided no call for 30 days.
    Unused {
        /// When it last did; absent where it never did.
        last_used: Option<Timestamp>,
    },
    /// It covers tools that were never used.
    TooWide {
        /// Names of those that were, on the server.
        used: Vec<String>,
        /// Names of those that were not.
        unused: Vec<String>,
    },
}

/// A server that is on and that nobody called for 30 days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UnusedServer {
    pub server: ServerId,
    pub name: String,
    /// When it was last called; absent where it never was.
    pub last_call: Option<Timestamp>,
}
