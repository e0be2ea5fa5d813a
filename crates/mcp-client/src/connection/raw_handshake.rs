//! What a server declares of itself in the handshake, as raw JSON: its capabilities and `serverInfo`. rmcp drives
//! the handshake with typed values, which drop what they don't know, so the transports take these out of the
//! messages on their way to rmcp.

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What the last handshake declared.
#[derive(Default)]
pub(super) struct RawHandshake(Mutex<DeclaredIdentity>);

/// Capabilities and identity of a server, byte for byte.
#[derive(Default)]
pub(super) struct DeclaredIdentity {
    capabilities: Option<Box<RawValue>>,
    /// `serverInfo`; optional on the stateless revision, which has it in `_meta`.
    pub(super) server_info: Option<Box<RawValue>>,
}

impl DeclaredIdentity {
    /// The capabilities, or `null` if there was no handshake.
    pub(super) fn take_capabilities(&mut self) -> Box<RawValue> {
        self.capabilities.take().unwrap_or_else(|| RawValue::NULL.to_owned())
    }
}

impl RawHandshake {
    /// Inspects a result on its way to rmcp.
    pub(super) fn capture(&self, result: &RawValue) {
        if let Some(found) = identity_of(result) {
            *self.0.lock() = found;
        }
    }

    /// What was captured last.
    pub(super) fn take(&self) -> DeclaredIdentity {
        std::mem::take(&mut *self.0.lock())
    }
}

/// The identity in the result of a handshake; `None` if it is another result.
fn identity_of(result: &RawValue) -> Option<DeclaredIdentity> {
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "io.modelcontextprotocol/serverInfo")]
        server_info: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Result<'a> {
        #[serde(borrow)]
        capabilities: &'a RawValue,
        #[serde(borrow)]
        server_info: Option<&'a RawValue>,
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let Result { capabilities, server_info, meta } = serde_json::from_str(result.get()).ok()?;
    let in_meta = || serde_json::from_str::<Meta<'_>>(meta?.get()).ok()?.server_info;
    Some(DeclaredIdentity {
        capabilities: Some(capabilities.to_owned()),
        server_info: server_info.or_else(in_meta).map(ToOwned::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_identity_of_both_families() {
        for (result, info) in [
            (r#"{"capabilities":{},"serverInfo":{"name":"a", "x":1.0}}"#, Some(r#"{"name":"a", "x":1.0}"#)),
            (
                r#"{"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"b"},"y":1}}"#,
                Some(r#"{"name":"b"}"#),
            ),
            (r#"{"capabilities":{}}"#, None),
            (r#"{"capabilities":{},"_meta":7}"#, None),
        ] {
            let raw = RawValue::from_string(result.to_owned()).unwrap();
            let mut identity = identity_of(&raw).unwrap();
            assert_eq!(identity.take_capabilities().get(), "{}");
            assert_eq!(identity.server_info.as_deref().map(RawValue::get), info, "{result}");
        }
        assert!(identity_of(&RawValue::from_string(r#"{"tools":[]}"#.to_owned()).unwrap()).is_none());
    }
}
