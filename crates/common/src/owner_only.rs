//! Files and folders that only their owner may read, from their creation on.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a file that is created with these options readable and writable by its owner only. An existing
/// file keeps its mode.
#[cfg(unix)]
pub fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

/// On other systems the permissions of the folder are inherited.
#[cfg(not(unix))]
pub fn file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Creates a folder, including missing parents, that only its owner can enter. An existing folder keeps
/// its mode.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_made_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let inner = dir.path().join("outer/inner");
        make_folder(&inner).unwrap();
        make_folder(&inner).unwrap();
        assert_eq!((mode(&dir.path().join("outer")), mode(&inner)), (0o700, 0o700));
        let path = inner.join("file");
        file(OpenOptions::new().append(true).create(true)).open(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }
}
