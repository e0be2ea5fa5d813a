//! AI clients that may connect to the gateway (GATE-3).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::{ClientId, ProfileId};
use crate::profile::ToolListCost;
use crate::time::Timestamp;

/// One client as it is kept: the token itself is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientEntry {
    pub id: ClientId,
    /// The name that the user gave it; unique.
    pub name: String,
    /// SHA-256 of the token, lower-case hexadecimal. Of a client that connects by OAuth, nobody has this token: its
    /// access tokens are kept as [`OAuthTokenFamily`].
    pub token_sha256: String,
    /// When the token was made.
    pub created: Timestamp,
    /// How it shows who it is.
    #[serde(default)]
    pub access: ClientAccess,
}

/// How a client shows who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientAccess {
    /// By a token that the user gave it.
    #[default]
    Token,
    /// By OAuth: it asked for access, and the user allowed it.
    Oauth {
        /// The id by which it asks for tokens: the address of its Client ID Metadata Document, or the id that it got
        /// when it registered.
        client_id: String,
    },
}

/// The tokens that came from one consent to a client's access by OAuth. Only their digests are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuthTokenFamily {
    /// Random. It is part of its tokens, and not secret.
    pub id: String,
    pub client: ClientId,
    /// Name of the only server that its tokens are for; all servers where absent.
    pub server: Option<String>,
    /// SHA-256 of the access token, lower-case hexadecimal.
    pub access_sha256: String,
    pub access_expires: Timestamp,
    /// SHA-256 of the refresh token, lower-case hexadecimal.
    pub refresh_sha256: String,
    pub refresh_expires: Timestamp,
}

/// One client as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientView {
    pub id: ClientId,
    /// The name that the user gave it.
    pub name: String,
    /// When its token was made, or when its access by OAuth was allowed.
    pub created: Timestamp,
    /// How it shows who it is.
    pub access: ClientAccess,
    /// What it last said of itself.
    pub says: Option<String>,
    /// When it was last seen since Gatehouse started.
    pub last_seen: Option<Timestamp>,
    /// Open sessions of the stateful revisions.
    pub sessions: u32,
    /// Whether it works with an old tool list: it was told that the list changed, did not list its tools
    /// again, and called one (GATE-7).
    pub has_stale_list: bool,
    /// Its profile; it sees all servers where absent.
    pub profile: Option<ProfileId>,
    /// What its list of tools costs a model.
    pub tool_list: ToolListCost,
}
