//! Reading and writing the settings file of an application. A symbolic link is followed, and stays. Nothing but a regular
//! file of a bounded size is read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_common::regular_file::{self, SymbolicLinks, UnreadFile};
use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::{ErrorCode, UserError, message};
use sha2::{Digest as _, Sha256};

use crate::read_document::MAX_BYTES;

/// A settings file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingsFile {
    /// The file itself, after symbolic links were followed.
    pub(super) path: PathBuf,
    /// Its bytes; `None` where there is no file.
    pub(super) content: Option<Vec<u8>>,
}

impl SettingsFile {
    /// Reads a file. Blocks.
    ///
    /// # Errors
    /// When it is no regular file, too large, or can't be read.
    pub(super) fn read(path: &Path) -> Result<Self, UserError> {
        let is_link = match fs::symlink_metadata(path) {
            Ok(found) => found.is_symlink(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_owned(), content: None });
            }
            Err(error) => return Err(unreadable(path, &error)),
        };
        let path = if is_link {
            fs::canonicalize(path).map_err(|error| unreadable(path, &error))?
        } else {
            path.to_owned()
        };
        let content =
            regular_file::read(&path, MAX_BYTES as u64, SymbolicLinks::Refuse).map_err(|unread| {
                let unusable = |what| UserError::new(ErrorCode::BadConfig, what);
                match unread {
                    UnreadFile::NotRegular => {
                        unusable(message!("error.connect.notAFile", path = shown(&path)))
                    }
                    UnreadFile::TooLarge => {
                        unusable(message!("error.connect.fileTooLarge", path = shown(&path)))
                    }
                    UnreadFile::Io(error) => unreadable(&path, &error),
                }
            })?;
        Ok(Self { path, content })
    }

    /// Whether the file is still the same, by the path that it was read by. Blocks.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn is_unchanged(&self, path: &Path) -> Result<bool, UserError> {
        Ok(Self::read(path)? == *self)
    }

    /// The bytes, none where there is no file.
    pub(super) fn bytes(&self) -> &[u8] {
        self.content.as_deref().unwrap_or_default()
    }

    /// The path as text, as it is stored and shown.
    ///
    /// # Errors
    /// When it is no Unicode text.
    pub(super) fn path_text(&self) -> Result<String, UserError> {
        self.path.to_str().map(str::to_owned).ok_or_else(|| {
            UserError::new(ErrorCode::BadConfig, message!("error.connect.oddPath", path = shown(&self.path)))
        })
    }
}

/// Replaces the bytes of a file, atomically. Blocks.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), UserError> {
    let made = path.parent().map_or(Ok(()), owner_only::make_folder);
    made.and_then(|()| atomic_file::replace_keeping_access(path, content)).map_err(|error| {
        UserError::new(ErrorCode::Storage, message!("error.connect.fileUnwritten", path = shown(path)))
            .with_cause(format!("{error}."))
    })
}

/// Removes a file, if it is there. Blocks.
pub(super) fn remove(path: &Path) -> Result<(), UserError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(UserError::new(
            ErrorCode::Storage,
            message!("error.connect.fileUnwritten", path = shown(path)),
        )
        .with_cause(format!("{error}."))),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(super) fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn unreadable(path: &Path, error: &io::Error) -> UserError {
    UserError::new(ErrorCode::Storage, message!("error.connect.fileUnreadable", path = shown(path)))
        .with_cause(format!("{error}."))
}
