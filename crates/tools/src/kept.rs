//! Small files beside the databases, for what is nice to know again after a restart. Nothing that
//! confers a right is ever kept here.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

/// Writes a file whole or not at all, readable for its owner alone. Blocks on the disk.
///
/// # Errors
/// When the disk refuses; then the file is as before.
pub(crate) fn write_whole(file: &Path, kept: &impl Serialize) -> std::io::Result<()> {
    let beside = file.with_extension("json.new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&beside)?;
    serde_json::to_writer(&mut out, kept)?;
    out.flush()?;
    out.sync_all()?;
    fs::rename(&beside, file)
}
