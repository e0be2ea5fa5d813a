//! Standard error of a server: the last lines in memory, everything in a rotated file that only the
//! user can read. A line that cannot be written to the file is dropped rather than blocking the
//! server.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_common::owner_only;
use gatehouse_model::ServerId;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Lines that are kept in memory.
const MAX_TAIL_LINES: usize = 200;
/// Lines that are included in a close reason.
const REASON_LINES: usize = 5;
/// Size at which the file is rotated, in bytes.
const ROTATE_AT: u64 = 1024 * 1024;
/// Longest line, in bytes; a longer one is split.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// The last lines.
#[derive(Default)]
pub(crate) struct LogTail {
    lines: Mutex<VecDeque<String>>,
}

impl LogTail {
    pub(crate) fn push(&self, line: String) {
        let mut lines = self.lines.lock();
        if lines.len() == MAX_TAIL_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// The last few lines, oldest first, for a close reason.
    pub(crate) fn last_lines(&self) -> Arc<[String]> {
        let lines = self.lines.lock();
        lines.iter().skip(lines.len().saturating_sub(REASON_LINES)).cloned().collect()
    }
}

/// The rotated log file of one server.
pub(crate) struct LogFile {
    path: PathBuf,
    open: Option<(File, u64)>,
}

impl LogFile {
    /// The log file of a server below the data folder. Nothing is created before the first line.
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
            owner_only::make_folder(folder)?;
        }
        let file = owner_only::file(OpenOptions::new().append(true).create(true)).open(&self.path)?;
        let size = file.metadata()?.len();
        Ok((file, size))
    }
}

/// Reads standard error to its end: each line is passed to `take`, and what that returns is written
/// to the file. `clean` redacts a line before it is split, since half a secret would not be
/// recognised.
pub(crate) async fn read_lines(
    mut stream: impl AsyncRead + Unpin,
    mut file: LogFile,
    clean: impl Fn(String) -> String,
    mut take: impl FnMut(String) -> String,
) {
    let mut pending = Vec::new();
    let mut chunk = vec![0; MAX_LINE_BYTES];
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
        for line in lines_of(&mut pending, count == 0, &clean) {
            text.extend_from_slice(take(line).as_bytes());
            text.push(b'\n');
        }
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

/// Removes the complete lines from `pending`; at the end of the stream the rest counts as a line
/// too. Of an unterminated long line everything but at least the last [`MAX_LINE_BYTES`] bytes is removed,
/// so that a secret of up to that length is never split in two.
fn lines_of(pending: &mut Vec<u8>, at_end: bool, clean: &impl Fn(String) -> String) -> Vec<String> {
    let buffered = std::mem::take(pending);
    let line_of = |bytes: &[u8]| clean(String::from_utf8_lossy(bytes).trim_end_matches('\r').to_owned());
    let mut lines = Vec::new();
    let mut rest = buffered.as_slice();
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let (line, behind) = rest.split_at(end);
        let mut line = line_of(line);
        break_off(&mut line, MAX_LINE_BYTES, &mut lines);
        lines.push(line);
        rest = behind.get(1..).unwrap_or_default();
    }
    if at_end {
        if !rest.is_empty() {
            let mut line = line_of(rest);
            break_off(&mut line, MAX_LINE_BYTES, &mut lines);
            lines.push(line);
        }
    } else if rest.len() < 2 * MAX_LINE_BYTES {
        *pending = rest.to_vec();
    } else {
        // An incomplete UTF-8 character is kept as bytes.
        let begun = rest.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        let (whole, begun) = rest.split_at(rest.len() - begun);
        let mut line = clean(String::from_utf8_lossy(whole).into_owned());
        break_off(&mut line, 2 * MAX_LINE_BYTES, &mut lines);
        *pending = line.into_bytes();
        pending.extend_from_slice(begun);
    }
    lines
}

/// Splits pieces of [`MAX_LINE_BYTES`] bytes off the front of a line while it is longer than `most`.
fn break_off(line: &mut String, most: usize, pieces: &mut Vec<String>) {
    while line.len() > most {
        let behind = line.split_off(line.floor_char_boundary(MAX_LINE_BYTES));
        pieces.push(std::mem::replace(line, behind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter2-hunter2";

    async fn read(text: &[u8], folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let file = LogFile::new(folder, &ServerId::from("srv-1"));
        let clean = |line: String| line.replace(SECRET, "(secret)");
        read_lines(text, file, clean, |line| {
            lines.push(line.clone());
            line
        })
        .await;
        lines
    }

    #[tokio::test]
    async fn splits_and_writes_lines() {
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
    async fn breaks_endless_line_and_rotates_file() {
        let folder = tempfile::tempdir().unwrap();
        let long = vec![b'x'; usize::try_from(ROTATE_AT).unwrap() + 10 * MAX_LINE_BYTES];
        let lines = read(&long, folder.path()).await;
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE_BYTES));
        assert_eq!(lines.concat().len(), long.len());
        assert!(folder.path().join("logs/srv-1.log.1").exists());
        assert!(
            std::fs::metadata(folder.path().join("logs/srv-1.log")).is_ok_and(|meta| meta.len() < ROTATE_AT)
        );
    }

    #[tokio::test]
    async fn redacts_secret_across_line_break() {
        for before in
            [MAX_LINE_BYTES - 7, 2 * MAX_LINE_BYTES - 7, 3 * MAX_LINE_BYTES - 1, 5 * MAX_LINE_BYTES - 14]
        {
            for after in ["", "\n", " and more\n", &"y".repeat(3 * MAX_LINE_BYTES)] {
                let folder = tempfile::tempdir().unwrap();
                let text = format!("{}{SECRET}{after}", "x".repeat(before));
                let lines = read(text.as_bytes(), folder.path()).await;
                assert!(lines.iter().all(|line| line.len() <= MAX_LINE_BYTES), "{before}");
                let clean = text.replace(SECRET, "(secret)").replace('\n', "");
                assert!(lines.concat() == clean, "{before} {}", after.len());
            }
        }
    }

    #[tokio::test]
    async fn does_not_split_characters() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("x{}", "\u{20ac}".repeat(2 * MAX_LINE_BYTES));
        assert!(read(text.as_bytes(), folder.path()).await.concat() == text);
    }

    #[test]
    fn keeps_last_lines() {
        let tail = LogTail::default();
        for number in 0..MAX_TAIL_LINES + 3 {
            tail.push(number.to_string());
        }
        assert_eq!(tail.lines.lock().len(), MAX_TAIL_LINES);
        assert_eq!(*tail.last_lines(), ["198", "199", "200", "201", "202"]);
    }
}
