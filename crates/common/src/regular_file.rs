//! Reading a file that another program wrote: only a regular file of a bounded size, and never waiting for one, as a pipe
//! would let it.
//!
//! Blocks on the disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

#[cfg(unix)]
use nix::fcntl::OFlag;

/// What is done with a symbolic link in the file's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolicLinks {
    Follow,
    Refuse,
}

/// Why a file wasn't read.
#[derive(Debug)]
pub enum UnreadFile {
    /// It is a pipe, a device, a folder, or a link that isn't followed.
    NotRegular,
    /// It has more bytes than allowed.
    TooLarge,
    Io(io::Error),
}

impl From<io::Error> for UnreadFile {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The bytes of a file, at most `max`; `None` if there is no file.
///
/// # Errors
/// See [`UnreadFile`].
pub fn read(path: &Path, max: u64, links: SymbolicLinks) -> Result<Option<Vec<u8>>, UnreadFile> {
    let about = match links {
        SymbolicLinks::Follow => fs::metadata(path),
        SymbolicLinks::Refuse => fs::symlink_metadata(path),
    };
    match about {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(UnreadFile::NotRegular),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let file = open(path, links)?;
    // The path may lead to something else by now, so the type of what was opened counts.
    if !file.metadata()?.is_file() {
        return Err(UnreadFile::NotRegular);
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(UnreadFile::TooLarge) } else { Ok(Some(bytes)) }
}

fn open(path: &Path, links: SymbolicLinks) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        if links == SymbolicLinks::Refuse {
            flags |= OFlag::O_NOFOLLOW;
        }
        options.custom_flags(flags.bits());
    }
    #[cfg(not(unix))]
    let _ = links;
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_regular_files_up_to_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(matches!(read(&path, 4, SymbolicLinks::Follow), Ok(None)));
        fs::write(&path, "1234").unwrap();
        for (max, is_read) in [(4, true), (5, true), (3, false)] {
            match read(&path, max, SymbolicLinks::Refuse) {
                Ok(Some(bytes)) => assert!(is_read && bytes == b"1234", "{max}"),
                other => assert!(!is_read && matches!(other, Err(UnreadFile::TooLarge)), "{max}: {other:?}"),
            }
        }
        assert!(matches!(read(folder.path(), 9, SymbolicLinks::Follow), Err(UnreadFile::NotRegular)));
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_only_when_told_to_and_never_in_a_circle() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [file, link, circle] = ["file", "link", "circle"].map(|name| folder.path().join(name));
        fs::write(&file, "x").unwrap();
        symlink(&file, &link).unwrap();
        symlink(&circle, &circle).unwrap();
        assert!(matches!(read(&link, 9, SymbolicLinks::Follow), Ok(Some(bytes)) if bytes == b"x"));
        assert!(matches!(read(&link, 9, SymbolicLinks::Refuse), Err(UnreadFile::NotRegular)));
        assert!(matches!(read(&circle, 9, SymbolicLinks::Follow), Err(UnreadFile::Io(_))));
    }

    #[cfg(unix)]
    #[test]
    fn never_waits_for_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(matches!(read(&path, 9, SymbolicLinks::Follow), Err(UnreadFile::NotRegular)));
    }
}
