//! What a server writes to its standard error: the last lines in memory, all of it in a rotated
//! file that only the user can read. Losing a line is better than holding up the server.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::ServerId;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Lines that are kept in memory.
const KEPT: usize = 200;
/// Lines that go into a reason.
const LAST_WORDS: usize = 5;
/// A file is put aside when it has grown to this.
const ROTATE_AT: u64 = 1024 * 1024;
/// Longest line; a longer one is broken.
const LONGEST: usize = 8 * 1024;

/// The last lines.
#[derive(Default)]
pub(crate) struct Tail {
    lines: Mutex<VecDeque<String>>,
}

impl Tail {
    /// Adds a line.
    pub(crate) fn push(&self, line: String) {
        let mut lines = self.lines.lock();
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last few, oldest first, for a reason in words.
    pub(crate) fn last_words(&self) -> Arc<[String]> {
        let lines = self.lines.lock();
        lines.iter().skip(lines.len().saturating_sub(LAST_WORDS)).cloned().collect()
    }
}

/// The rotated file of one server.
pub(crate) struct LogFile {
    path: PathBuf,
    open: Option<(File, u64)>,
}

impl LogFile {
    /// The file of this server under a data folder. Nothing is made before the first line.
    pub(crate) fn new(data_dir: &Path, server: &ServerId) -> Self {
        let name: String = server
            .as_str()
            .chars()
            .map(
                |piece| if piece.is_ascii_alphanumeric() || matches!(piece, '-' | '_') { piece } else { '_' },
            )
            .collect();
        Self { path: data_dir.join("logs").join(format!("{name}.log")), open: None }
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let (mut file, size) = match self.open.take() {
            Some(open) => open,
            None => self.open_file()?,
        };
        file.write_all(text)?;
        let size = size + u64::try_from(text.len()).unwrap_or(u64::MAX);
        if size < ROTATE_AT {
            self.open = Some((file, size));
            return Ok(());
        }
        drop(file);
        std::fs::rename(&self.path, self.path.with_extension("log.1"))
    }

    fn open_file(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.path.parent() {
            make_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Reads standard error to its end: each line goes to `take`, all of them to the file.
pub(crate) async fn read_lines(
    mut stream: impl AsyncRead + Unpin,
    mut file: LogFile,
    mut take: impl FnMut(String) -> String,
) {
    let mut pending = Vec::new();
    let mut chunk = vec![0; LONGEST];
    loop {
        let count = match stream.read(&mut chunk).await {
            Ok(count) => count,
            Err(error) => {
                tracing::debug!(%error, "standard error broke");
                0
            }
        };
        pending.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let mut text = Vec::new();
        let mut rest = pending.as_slice();
        while let Some((line, behind)) = next_line(rest, count == 0) {
            let line = take(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned());
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
            rest = behind;
        }
        pending = rest.to_vec();
        if !text.is_empty() {
            let written = tokio::task::spawn_blocking(move || {
                if let Err(error) = file.append(&text) {
                    tracing::warn!(%error, "a server's log cannot be written");
                }
                file
            });
            match written.await {
                Ok(back) => file = back,
                Err(_) => return,
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// The first whole line and what is behind it; at the end, what is left is a line too.
fn next_line(text: &[u8], at_end: bool) -> Option<(&[u8], &[u8])> {
    match memchr::memchr(b'\n', text) {
        Some(end) if end <= LONGEST => Some((text.get(..end)?, text.get(end + 1..)?)),
        _ if text.len() >= LONGEST => Some(text.split_at(LONGEST)),
        _ if at_end && !text.is_empty() => Some((text, &[])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let file = LogFile::new(folder, &ServerId::from("srv-1"));
        read_lines(text, file, |line| {
            lines.push(line.clone());
            line
        })
        .await;
        lines
    }

    #[tokio::test]
    async fn lines_are_split_and_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(b"one\r\ntwo\n\nlast", folder.path()).await, ["one", "two", "", "last"]);
        let path = folder.path().join("logs/srv-1.log");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n\nlast\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn an_endless_line_is_broken_and_the_file_rotates() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; usize::try_from(ROTATE_AT).unwrap() + 10];
        let lines = read(&long, folder.path()).await;
        assert!(lines.iter().all(|line| line.len() <= LONGEST));
        assert_eq!(lines.concat().len(), long.len());
        assert!(folder.path().join("logs/srv-1.log.1").exists());
        assert!(
            std::fs::metadata(folder.path().join("logs/srv-1.log")).is_ok_and(|meta| meta.len() < ROTATE_AT)
        );
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let tail = Tail::default();
        for number in 0..KEPT + 3 {
            tail.push(number.to_string());
        }
        assert_eq!(tail.lines.lock().len(), KEPT);
        assert_eq!(*tail.last_words(), ["198", "199", "200", "201", "202"]);
    }
}
