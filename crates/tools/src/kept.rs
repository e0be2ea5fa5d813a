//! Small files beside the databases, for what is nice to know again after a restart. Nothing that
//! confers a right is ever kept here.

use std::path::Path;

use gatehouse_common::atomic_file;
use serde::Serialize;

/// Writes a file whole or not at all, readable for its owner alone. Blocks on the disk.
///
/// # Errors
/// When the disk refuses; then the file is as before.
pub(crate) fn write_whole(file: &Path, kept: &impl Serialize) -> std::io::Result<()> {
    atomic_file::replace(file, &serde_json::to_vec(kept)?)
}
