//! Which servers an endpoint of the gateway is for.

use gatehouse_model::ServerId;
use serde::{Deserialize, Serialize};

/// The servers behind an endpoint of the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSelection {
    /// All enabled servers, under exposed names and with cleaned texts.
    All,
    /// One server, with its own names, URIs and bytes.
    One(ServerId),
}
