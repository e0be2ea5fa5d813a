//! A sandboxed folder. Every step of a path is opened relative to an open directory, never by name
//! from the file system's root, so that neither `..`, nor a symbolic link, nor a folder that is
//! replaced concurrently leads outside. Nothing is ever written through a symbolic link.

use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata, OpenOptions};
use gatehouse_model::{UserText, message};

/// An open folder.
pub(super) struct Folder {
    root: Dir,
    /// The path as the user entered it; absolute paths below it are accepted.
    place: PathBuf,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderError {
    #[error("\"{0}\" is outside the folder; only what is in it can be reached.")]
    Outside(String),
    #[error("\"{0}\" leads through a link, and nothing is written or deleted through links.")]
    Link(String),
    #[error("The path \"{0}\" cannot be used: {1}.")]
    BadPath(String, &'static str),
    #[error("There is no \"{0}\" in the folder.")]
    Missing(String),
    #[error("\"{0}\" is {1}.")]
    WrongKind(String, &'static str),
    #[error("\"{path}\" has {size} bytes; at most {limit} are allowed.")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("\"{0}\" could not be used: {1}.")]
    Io(String, io::Error),
}

impl Folder {
    /// Opens a folder by its absolute path.
    pub(super) fn open(place: &Path) -> Result<Self, UserText> {
        let folder = place.display().to_string();
        if !place.is_absolute() {
            return Err(message!("error.servers.builtin.relativeFolder", folder = folder).into());
        }
        let root = Dir::open_ambient_dir(place, ambient_authority()).map_err(|error| {
            message!("error.servers.builtin.badFolder", folder = folder, reason = error.to_string())
        })?;
        Ok(Self { root, place: place.to_owned() })
    }

    /// The path relative to the folder. `..` is kept: whether it leads outside is determined when
    /// the path is opened.
    fn relative_path(&self, path: &str) -> Result<PathBuf, FolderError> {
        if path.contains('\0') {
            return Err(FolderError::BadPath(path.replace('\0', "⟦U+0000⟧"), "it holds a NUL character"));
        }
        let given = Path::new(path);
        let relative = if given.is_absolute() {
            given.strip_prefix(&self.place).map_err(|_| FolderError::Outside(path.to_owned()))?
        } else {
            given
        };
        for step in relative.components() {
            match step {
                Component::Normal(_) | Component::CurDir | Component::ParentDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    return Err(FolderError::Outside(path.to_owned()));
                }
            }
        }
        if relative.as_os_str().is_empty() { Ok(PathBuf::from(".")) } else { Ok(relative.to_owned()) }
    }

    /// Opens the parent of the last step of a path without following any symbolic link; returns it
    /// with that step. With `make`, missing folders are created.
    fn parent(&self, path: &str, make: bool) -> Result<(Dir, PathBuf), FolderError> {
        let relative_path = self.relative_path(path)?;
        let mut steps = Vec::new();
        for step in relative_path.components() {
            match step {
                Component::Normal(name) => steps.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(FolderError::BadPath(
                        path.to_owned(),
                        "a path to change may not hold \"..\"",
                    ));
                }
            }
        }
        let Some(name) = steps.pop() else {
            return Err(FolderError::WrongKind(path.to_owned(), "the folder itself"));
        };
        let mut dir = self.root.try_clone().map_err(|error| to_folder_error(path, error))?;
        for step in steps {
            if dir.symlink_metadata(step).is_ok_and(|found| found.is_symlink()) {
                return Err(FolderError::Link(path.to_owned()));
            }
            dir = match dir.open_dir_nofollow(step) {
                Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                    dir.create_dir(step).map_err(|error| to_folder_error(path, error))?;
                    dir.open_dir_nofollow(step)
                }
                opened => opened,
            }
            .map_err(|error| to_folder_error(path, error))?;
        }
        Ok((dir, PathBuf::from(name)))
    }

    pub(super) fn entries(&self, path: &str) -> Result<Vec<DirEntry>, FolderError> {
        let dir =
            self.root.open_dir(self.relative_path(path)?).map_err(|error| to_folder_error(path, error))?;
        let entries = dir.entries().map_err(|error| to_folder_error(path, error))?;
        entries.collect::<io::Result<Vec<_>>>().map_err(|error| to_folder_error(path, error))
    }

    /// Opens a folder below this one, for walking.
    pub(super) fn dir(&self, path: &str) -> Result<Dir, FolderError> {
        self.root.open_dir(self.relative_path(path)?).map_err(|error| to_folder_error(path, error))
    }

    /// Reads a file of at most `limit` bytes.
    pub(super) fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, FolderError> {
        let relative_path = self.relative_path(path)?;
        // Check before opening: opening a named pipe would wait for a writer.
        is_file(path, &self.root.metadata(&relative_path).map_err(|error| to_folder_error(path, error))?)?;
        let file = self.root.open(&relative_path).map_err(|error| to_folder_error(path, error))?;
        let metadata = file.metadata().map_err(|error| to_folder_error(path, error))?;
        is_file(path, &metadata)?;
        fits(path, metadata.len(), limit)?;
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| to_folder_error(path, error))?;
        fits(path, u64::try_from(bytes.len()).unwrap_or(u64::MAX), limit)?;
        Ok(bytes)
    }

    /// Replaces the content of a file, creating it if needed. Returns whether it is new.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, FolderError> {
        let (dir, name) = self.parent(path, true)?;
        let new = match dir.symlink_metadata(&name) {
            Ok(metadata) if metadata.is_symlink() => return Err(FolderError::Link(path.to_owned())),
            Ok(metadata) => {
                is_file(path, &metadata)?;
                false
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(to_folder_error(path, error)),
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).follow(FollowSymlinks::No);
        let mut file = dir.open_with(&name, &options).map_err(|error| to_folder_error(path, error))?;
        is_file(path, &file.metadata().map_err(|error| to_folder_error(path, error))?)?;
        file.set_len(0).and_then(|()| file.write_all(bytes)).map_err(|error| to_folder_error(path, error))?;
        Ok(new)
    }

    /// Deletes a file; for a symbolic link, the link itself.
    pub(super) fn delete(&self, path: &str) -> Result<(), FolderError> {
        let (dir, name) = self.parent(path, false)?;
        let metadata = dir.symlink_metadata(&name).map_err(|error| to_folder_error(path, error))?;
        if metadata.is_dir() {
            return Err(FolderError::WrongKind(path.to_owned(), "a folder, and only files can be deleted"));
        }
        dir.remove_file(&name).map_err(|error| to_folder_error(path, error))
    }
}

fn is_file(path: &str, metadata: &Metadata) -> Result<(), FolderError> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(FolderError::WrongKind(path.to_owned(), "a folder, not a file"))
    } else {
        Err(FolderError::WrongKind(path.to_owned(), "no ordinary file"))
    }
}

fn fits(path: &str, size: u64, limit: u64) -> Result<(), FolderError> {
    if size <= limit { Ok(()) } else { Err(FolderError::TooLarge { path: path.to_owned(), size, limit }) }
}

/// Translates an I/O error. A step that would leave the folder is reported by `cap-std` as "cross
/// device" or as "permission denied" without an OS error code.
fn to_folder_error(path: &str, error: io::Error) -> FolderError {
    match error.kind() {
        io::ErrorKind::NotFound => FolderError::Missing(path.to_owned()),
        io::ErrorKind::CrossesDevices => FolderError::Outside(path.to_owned()),
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            FolderError::Outside(path.to_owned())
        }
        _ => FolderError::Io(path.to_owned(), error),
    }
}

#[cfg(test)]
mod tests;
