//! The folders of unpacked bundles: each is named by the hash of its archive, so that a server of another archive is
//! another server to permissions and secrets, which are bound to its folder. Other programs of the user can change what is
//! in a folder later, as they can with the files of any server.
//!
//! A folder appears whole or not at all. Must never write outside of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use gatehouse_common::owner_only;

use super::archive::{Archive, EntryKind};
use super::error::BundleError;

/// Unpacks an archive into the folder `name` of `home`, and answers its path. An existing folder is replaced, unless it
/// is in use and has the same files.
pub(super) fn install(
    archive: &Archive<'_>,
    home: &Path,
    name: &str,
    is_used: bool,
) -> Result<PathBuf, BundleError> {
    let folder = home.join(name);
    if is_used && has_same_files(archive, &folder) {
        return Ok(folder);
    }
    let (new, old) = (home.join(format!("{name}.new")), home.join(format!("{name}.old")));
    remove(&new).and_then(|()| remove(&old)).map_err(BundleError::Unwritten)?;
    if let Err(error) = write_files(archive, &new) {
        // The first error is the one to report; what is left is removed with the next bundle.
        drop(remove(&new));
        return Err(error);
    }
    let swap = || {
        if folder.symlink_metadata().is_ok() {
            fs::rename(&folder, &old)?;
        }
        fs::rename(&new, &folder)?;
        remove(&old)
    };
    swap().map_err(BundleError::Unwritten)?;
    Ok(folder)
}

/// Makes the program of a bundle executable, whatever its archive said.
pub(super) fn mark_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Removes folders that are not wanted.
pub(super) fn sweep(home: &Path, is_wanted: impl Fn(&str) -> bool) {
    let entries = match fs::read_dir(home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            tracing::warn!(%error, "unpacked bundles cannot be listed");
            return;
        }
    };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(&is_wanted) {
            continue;
        }
        if let Err(error) = remove(&entry.path()) {
            tracing::warn!(%error, "an unpacked bundle that nothing uses cannot be removed");
        }
    }
}

fn write_files(archive: &Archive<'_>, folder: &Path) -> Result<(), BundleError> {
    owner_only::make_folder(folder).map_err(BundleError::Unwritten)?;
    for entry in archive.entries() {
        let path = entry.path.below(folder);
        match entry.kind {
            EntryKind::Folder => owner_only::make_folder(&path).map_err(BundleError::Unwritten)?,
            EntryKind::File { executable } => {
                let mut file = create(&path).map_err(BundleError::Unwritten)?;
                archive.unpack(entry, &mut file)?;
                if executable {
                    mark_executable(&path).map_err(BundleError::Unwritten)?;
                }
            }
        }
    }
    Ok(())
}

/// A new file; one that is there is never written to.
fn create(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        owner_only::make_folder(parent)?;
    }
    owner_only::file(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Whether all files of an archive are in a folder as they are in the archive.
fn has_same_files(archive: &Archive<'_>, folder: &Path) -> bool {
    archive.entries().iter().filter(|entry| entry.kind != EntryKind::Folder).all(|entry| {
        let path = entry.path.below(folder);
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == entry.size);
        is_file && File::open(&path).is_ok_and(|file| archive.unpack(entry, &mut ComparedFile(file)).is_ok())
    })
}

/// A file that what is written to is compared with; the first difference is an error.
struct ComparedFile(File);

impl Write for ComparedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut there = vec![0; bytes.len()];
        self.0.read_exact(&mut there)?;
        if there == bytes { Ok(bytes.len()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes a folder with everything in it, without following links.
fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
