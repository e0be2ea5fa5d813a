//! Results in which the gateway describes itself: `initialize` and `server/discover`.

use bytes::Bytes;
use serde_json::json;

use crate::revision::Revision;

/// Instructions for the model (`instructions`).
const INSTRUCTIONS: &str = "These tools belong to MCP servers that the user runs behind Gatehouse, a permission \
    gateway. A call may wait until the user has looked at it and allowed it; that can take a while and is no \
    error. If a result says that Gatehouse still waits for the user, call the same tool again with exactly the \
    same arguments. If a result says that the user refused, the tool is not broken: do not repeat the call or \
    look for a way around it, but take the user's reason into account, or ask the user how to go on.";

fn server_info() -> serde_json::Value {
    json!({ "name": "Gatehouse", "version": env!("CARGO_PKG_VERSION") })
}

fn capabilities() -> serde_json::Value {
    json!({
        "tools": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// The result of `initialize`.
pub(crate) fn initialize(agreed: Revision) -> Bytes {
    json!({
        "protocolVersion": agreed.as_str(),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
    .to_string()
    .into()
}

/// The result of `server/discover`.
pub(crate) fn discover() -> Bytes {
    json!({
        "resultType": "complete",
        "supportedVersions": [Revision::STATELESS.as_str()],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "ttlMs": 3_600_000,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": server_info() },
    })
    .to_string()
    .into()
}

/// The result at the graceful end of `subscriptions/listen`.
pub(crate) fn listen_ended(subscription: &str) -> Bytes {
    format!(
        r#"{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription},"io.modelcontextprotocol/serverInfo":{}}}}}"#,
        server_info()
    )
    .into()
}
