//! The folders of unpacked bundles: each is named by the hash of its archive, so that a server of another archive is
//! another server to permissions and secrets, which are bound to its folder. Other programs of the user can change what is
//! in a folder later, as they can with the files of any server.
//!
//! A folder appears whole or not at all. Must never write outside of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::path::Path;

use gatehouse_common::owner_only;

use super::archive::{Archive, EntryKind};
use super::error::BundleError;

/// Unpacks an archive into a folder, whose name has no dot. An existing folder is replaced, unless it is in use and has
/// the same files. Nothing is left if `is_cancelled` says so meanwhile.
pub(super) fn install(
    archive: &Archive<'_>,
    folder: &Path,
    is_used: bool,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), BundleError> {
    if is_used && has_same_files(archive, folder) {
        return Ok(());
    }
    let (new, old) = (folder.with_extension("new"), folder.with_extension("old"));
    remove(&new).and_then(|()| remove(&old)).map_err(BundleError::Unwritten)?;
    if let Err(error) = write_files(archive, &new, is_cancelled) {
        // The first error is the one to report; what is left is removed with the next bundle.
        drop(remove(&new));
        return Err(if is_cancelled() { BundleError::Cancelled } else { error });
    }
    let swap = || {
        if folder.symlink_metadata().is_ok() {
            fs::rename(folder, &old)?;
        }
        fs::rename(&new, folder)?;
        remove(&old)
    };
    swap().map_err(BundleError::Unwritten)
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

fn write_files(
    archive: &Archive<'_>,
    folder: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), BundleError> {
    owner_only::make_folder(folder).map_err(BundleError::Unwritten)?;
    for entry in archive.entries() {
        let path = entry.path.below(folder);
        match entry.kind {
            EntryKind::Folder => owner_only::make_folder(&path).map_err(BundleError::Unwritten)?,
            EntryKind::File { executable } => {
                let file = create(&path).map_err(BundleError::Unwritten)?;
                archive.unpack(entry, &mut CancellableFile { file, is_cancelled })?;
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

/// A file whose writing fails once it is cancelled.
struct CancellableFile<'a> {
    file: File,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl Write for CancellableFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.is_cancelled)() { Err(io::ErrorKind::Other.into()) } else { self.file.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
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
