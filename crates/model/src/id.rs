//! Ids as separate types, so that one cannot be passed for another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
        #[serde(transparent)]
        #[ts(as = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps an id that was created before (from a file, a database, or a message).
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Makes a new id from 64 random bits that the caller supplies.
            #[must_use]
            pub fn from_random(bits: u64) -> Self {
                Self(format!(concat!($prefix, "{:016x}"), bits).into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

text_id!(
    /// One configured upstream server. Immutable for the life of the entry: a rename keeps it, a
    /// duplicate gets a new one.
    ServerId, "srv-");
text_id!(
    /// One AI client that was given a token.
    ClientId, "cli-");
text_id!(
    /// One profile of clients (GATE-4).
    ProfileId, "prf-");
text_id!(
    /// One connection of a client: an MCP session of the stateful revisions, or a bridge.
    SessionId, "ses-");
text_id!(
    /// One grant or deny rule.
    GrantId, "grt-");
text_id!(
    /// One removal that can still be undone.
    RemovalId, "rmv-");
text_id!(
    /// One approval request put to a person.
    ApprovalId, "ask-");
text_id!(
    /// One model provider that the user added.
    ProviderId, "mdl-");
text_id!(
    /// One conversation with a model.
    ConversationId, "cnv-");
text_id!(
    /// One message of a conversation.
    MessageId, "msg-");
text_id!(
    /// One call, from the moment it enters `tools` to its record.
    CallId, "call-");
text_id!(
    /// SHA-256 (lower-case hexadecimal) over everything an approval is for: client, server id and
    /// generation, tool definition and argument bytes.
    CallHash, "h-");
text_id!(
    /// SHA-256 (lower-case hexadecimal) over the non-secret identity of a server.
    IdentityHash, "i-");
text_id!(
    /// SHA-256 (lower-case hexadecimal) over a tool's definition in canonical form.
    Fingerprint, "f-");

/// Counts every edit of a server that changes what it is (command, URL, environment, …). A grant
/// or a credential given for one generation is worth nothing for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// The generation after an edit that changes the server's identity.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
