//! The status of a server, as shown to users and clients (SRV-2).

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use ts_rs::TS;

use crate::text::UserText;
use crate::time::Timestamp;

/// State of one server. Derived from the actor's private state; never stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum ServerStatus {
    /// Switched off by the user.
    Disabled,
    /// Enabled, but not running.
    Stopped,
    /// A connection is being made.
    Connecting {
        /// 1 for the first attempt.
        attempt: u32,
    },
    /// Connected: the handshake is done and a first list, ping or discovery was answered.
    Connected {
        since: Timestamp,
        /// Negotiated protocol revision.
        protocol: String,
        /// How the server names itself.
        server: ServerInfo,
    },
    /// The server wants the user to sign in.
    NeedsAuth {
        /// Authorization server, where it is known.
        issuer: Option<String>,
    },
    /// The authorization server knows no way to register; the user has to enter a client id.
    NeedsClientRegistration { reason: UserText },
    /// Not running because of an error.
    Failed {
        error: FailureKind,
        /// What happened, why, and what to do, in plain words.
        message: UserText,
        /// Attempts so far in this row.
        attempts: u32,
        /// When the next try comes, if one does.
        next_retry: Option<Timestamp>,
    },
}

impl ServerStatus {
    /// The tag alone.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// How a server names itself (`serverInfo`), with its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    pub name: String,
    pub title: Option<String>,
    pub version: String,
    /// `instructions` of the handshake.
    pub instructions: Option<String>,
}

/// Classes of failure (SRV-4); they decide whether a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Time-out, refused, reset, 429, 5xx, the process ended: retried.
    TemporaryNetwork,
    /// The address does not exist or the certificate is wrong: not retried.
    PermanentNetwork,
    /// The entry itself is wrong (no such command, bad URL): not retried.
    Configuration,
    /// The server refuses who we are: becomes `needs_auth`.
    Authorization,
    /// The other side does not speak MCP, or no version that we speak: not retried.
    Protocol,
    /// Anything else: retried.
    Unknown,
}

/// Why a status changed. Goes with every change (SRV-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "cause", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum StatusCause {
    /// Gatehouse started and the server starts by itself.
    Launch,
    /// The user asked for it.
    User,
    /// A call needed the server.
    Call,
    /// The entry was edited.
    Edited,
    /// The next attempt after a failure.
    Retry,
    /// The handshake succeeded.
    Handshake,
    AttemptFailed,
    /// The connection ended by itself: process exit, broken stream.
    UnexpectedClose {
        /// Exit code or signal and the last words.
        reason: UserText,
    },
    /// Health checks were not answered.
    Unresponsive,
    /// The server no longer knew the session; it is opened once more (SRV-6).
    SessionLost,
    /// The server asked for authorization.
    Challenge,
    /// Everything is paused, or Gatehouse shuts down.
    Shutdown,
}
