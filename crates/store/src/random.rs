//! Random bytes, with the errors of the store.

use crate::error::StoreError;

/// Random bytes from the operating system.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], StoreError> {
    gatehouse_common::random::bytes().map_err(|e| StoreError::Random(e.to_string()))
}
