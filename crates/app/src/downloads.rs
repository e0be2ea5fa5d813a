//! Files in the user's folder of downloads, which only the user can read. Never overwrites one, and the caller never
//! chooses an extension that a system would execute.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gatehouse_common::owner_only;
use gatehouse_model::server_catalog::SavedFile;
use gatehouse_model::{ErrorCode, UserError, message};

/// Number of file names that are tried.
const MAX_FILE_NAMES: u32 = 1000;

/// Creates a file that is not there yet, with a name made of what it is called and a number. Blocks.
pub(crate) fn create(folder: &Path, name: &str, ending: &str) -> Result<(PathBuf, File), UserError> {
    let name: String =
        name.chars().map(|piece| if piece.is_ascii_alphanumeric() { piece } else { '-' }).take(40).collect();
    std::fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
    for number in 1..MAX_FILE_NAMES {
        let path: PathBuf = folder.join(format!("{}-{number}.{ending}", name.trim_matches('-')));
        match owner_only::file(OpenOptions::new().write(true).create_new(true)).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unwritten(folder, &error)),
        }
    }
    Err(unwritten(folder, &io::ErrorKind::AlreadyExists.into()))
}

/// Writes a file. Blocks.
pub(crate) fn save(folder: &Path, name: &str, ending: &str, bytes: &[u8]) -> Result<SavedFile, UserError> {
    let (path, mut file) = create(folder, name, ending)?;
    file.write_all(bytes).map_err(|error| unwritten(folder, &error))?;
    Ok(SavedFile { path: path.display().to_string() })
}

/// The error when a file could not be written.
pub(crate) fn unwritten(folder: &Path, error: &io::Error) -> UserError {
    let what = message!("error.app.fileUnwritten", folder = folder.display().to_string());
    UserError::new(ErrorCode::Storage, what).with_cause(format!("{error}."))
}
