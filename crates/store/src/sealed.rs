//! What is sealed, so that a changed or an old copy is detected: records that grant permissions, and rows that name
//! stored secrets; with the keys of the control socket, which are stored next to the sealing keys.
//!
//! Must never return a record without verifying its seal.

pub(crate) mod context;
pub(crate) mod control_keys;
pub(crate) mod record;
pub(crate) mod secret_index;
