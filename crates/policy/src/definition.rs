//! What a tool says of itself, pinned and compared (PERM-8).

use gatehouse_model::grant::FieldChange;
use gatehouse_model::id::Fingerprint;

use crate::json::JsonDefect;

/// Fingerprint of a tool's definition.
pub fn fingerprint(definition: &str) -> Result<Fingerprint, JsonDefect> {
    crate::json::read(definition).map(|d| Fingerprint::new(d.canonical()))
}

/// What is different between two definitions.
#[must_use]
pub fn diff(_before: &str, _after: &str) -> Vec<FieldChange> {
    Vec::new()
}

/// Where a definition has characters that cannot be seen.
#[must_use]
pub fn hidden_places(_definition: &str) -> Vec<String> {
    Vec::new()
}
