//! Atomic replacement of files: of Gatehouse's own, that only the owner may read, and of other applications' files.
//!
//! Blocks on the disk. After a crash the file has the old content or the new one, never a part of it.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::owner_only;

/// Replaces a file: writes a temporary file in the same folder that only the owner may read from its
/// creation on, then fsync, rename, and fsync of the folder. The temporary file has the name of the file
/// with `.new` appended; one left behind by a crash is removed, and a symbolic link in its place is not
/// followed.
///
/// # Errors
/// On an I/O error. Unless the final fsync of the folder fails, the file is unchanged then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, ".new", content, |_| Ok(()))
}

/// As [`replace`], for a file of another application: the new file has the owner and the permissions of the one that it
/// replaces, and a temporary name that no application uses. A file that isn't there yet is created for the owner only.
///
/// # Errors
/// As [`replace`]; also when the owner can't be kept.
pub fn replace_keeping_access(path: &Path, content: &[u8]) -> io::Result<()> {
    let before = match fs::metadata(path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    replace_by(path, ".gatehouse-new", content, |file| match &before {
        Some(before) => keep_access(file, before),
        None => Ok(()),
    })
}

fn replace_by(
    path: &Path,
    suffix: &str,
    content: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = OsString::from(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(suffix);
    let temporary = folder.join(name);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = owner_only::file(OpenOptions::new().write(true).create_new(true)).open(&temporary)?;
    let written = prepare(&file).and_then(|()| file.write_all(content)).and_then(|()| file.sync_all());
    drop(file);
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        // The temporary file is useless and may contain a secret. If it cannot be removed, the first
        // error is still the one to report.
        drop(fs::remove_file(&temporary));
        return Err(error);
    }
    sync_folder(folder)
}

#[cfg(unix)]
fn keep_access(file: &File, before: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let created = file.metadata()?;
    if (created.uid(), created.gid()) != (before.uid(), before.gid()) {
        fchown(file, Some(before.uid()), Some(before.gid()))?;
    }
    file.set_permissions(before.permissions())
}

/// On other systems the permissions of the folder are inherited.
#[cfg(not(unix))]
fn keep_access(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        for content in ["first", "second, longer", ""] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_changes_nothing_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "x").unwrap();
        replace(&path, b"y").unwrap_err();
        replace(&folder.path().join("missing/a"), b"y").unwrap_err();
        replace(Path::new("/"), b"y").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(path.join("inside")).unwrap(), "x");
    }

    #[cfg(unix)]
    #[test]
    fn files_of_others_keep_their_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace_keeping_access(&path, b"1").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        fs::write(folder.path().join("a.new"), "another application's").unwrap();
        replace_keeping_access(&path, b"2").unwrap();
        assert_eq!((mode(), fs::read_to_string(&path).unwrap().as_str()), (0o640, "2"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_it_whatever_was_there_before() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = || fs::symlink_metadata(&path).unwrap().permissions().mode();
        fs::write(&path, "open to all").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        // What a crash or another process left at the path of the temporary file.
        let temporary = folder.path().join("a.new");
        fs::write(&temporary, "left").unwrap();
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o666)).unwrap();
        replace(&path, b"1").unwrap();
        assert_eq!(mode() & 0o777, 0o600);

        let elsewhere = folder.path().join("elsewhere");
        symlink(&elsewhere, &temporary).unwrap();
        replace(&path, b"2").unwrap();
        assert!(!elsewhere.exists() && mode() & 0o777 == 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
    }
}
