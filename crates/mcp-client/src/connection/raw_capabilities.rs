//! The capabilities that a server declares, as raw JSON. rmcp drives the handshake with typed values,
//! which drop what they don't know, so the transports take the capabilities out of the messages on
//! their way to rmcp.

use parking_lot::Mutex;
use serde_json::value::RawValue;

/// The capabilities of the last handshake, as raw JSON.
#[derive(Default)]
pub(super) struct RawCapabilities(Mutex<Option<Box<RawValue>>>);

impl RawCapabilities {
    /// Inspects a result on its way to rmcp.
    pub(super) fn capture(&self, result: &RawValue) {
        if let Some(found) = capabilities_of(result) {
            *self.0.lock() = Some(found);
        }
    }

    /// The capabilities, or `null` if there was no handshake.
    pub(super) fn take(&self) -> Box<RawValue> {
        self.0.lock().take().unwrap_or_else(|| RawValue::NULL.to_owned())
    }
}

/// Extracts the capabilities from the result of a handshake.
fn capabilities_of(result: &RawValue) -> Option<Box<RawValue>> {
    #[derive(serde::Deserialize)]
    struct Result<'a> {
        #[serde(borrow)]
        capabilities: &'a RawValue,
    }
    serde_json::from_str::<Result<'_>>(result.get()).ok().map(|result| result.capabilities.to_owned())
}
