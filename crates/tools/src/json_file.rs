//! Small JSON files beside the databases, for data that is useful after a restart. Nothing that grants a permission
//! is ever stored here.

use std::path::Path;

use gatehouse_common::atomic_file;
use serde::Serialize;

/// Writes a file atomically, readable only for its owner. Blocks on the disk.
///
/// # Errors
/// If writing fails; the file is then unchanged.
pub(crate) fn write_json(file: &Path, kept: &impl Serialize) -> std::io::Result<()> {
    atomic_file::replace(file, &serde_json::to_vec(kept)?)
}
