//! Logging to standard error and to a rotated file in the data folder that only its owner can read.
//! Arguments, tokens and secrets are never logged, and nothing is logged to standard output.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_common::owner_only;
use gatehouse_model::{ErrorCode, UserError, message};
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// Log filter if the user sets none.
const DEFAULT_FILTER: &str = "info,rmcp=warn";
/// Environment variable for the log filter.
const FILTER_VARIABLE: &str = "GATEHOUSE_LOG";
/// Size in bytes at which a file is rotated.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Number of rotated files that are kept.
const OLD_FILES: u32 = 3;

/// Starts logging. Call it once per process.
pub fn start(data_dir: &Path) -> Result<(), UserError> {
    let file = RotatedFile::open(&data_dir.join("logs")).map_err(|e| {
        UserError::new(ErrorCode::Storage, message!("error.app.logUnopened")).with_cause(format!("{e}."))
    })?;
    let filter =
        || EnvFilter::try_from_env(FILTER_VARIABLE).unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let to_terminal = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    let to_file = tracing_subscriber::fmt::layer().with_writer(file).with_ansi(false);
    tracing_subscriber::registry()
        .with(to_terminal.with_ansi(false).with_filter(filter()))
        .with(to_file.with_filter(filter()))
        .try_init()
        .map_err(|e| {
            UserError::new(ErrorCode::Internal, message!("error.app.logUnstarted"))
                .with_cause(format!("{e}."))
        })
}

/// A log file that is rotated when it is full.
#[derive(Clone)]
struct RotatedFile(Arc<Mutex<RotationState>>);

struct RotationState {
    folder: PathBuf,
    file: File,
    written: u64,
    max_bytes: u64,
}

impl RotatedFile {
    fn open(folder: &Path) -> io::Result<Self> {
        Self::open_sized(folder, MAX_FILE_BYTES)
    }

    fn open_sized(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        owner_only::make_folder(folder)?;
        let file = open_private(&current_path(folder))?;
        let written = file.metadata()?.len();
        Ok(Self(Arc::new(Mutex::new(RotationState { folder: folder.to_owned(), file, written, max_bytes }))))
    }
}

fn current_path(folder: &Path) -> PathBuf {
    folder.join("gatehouse.log")
}

fn rotated_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("gatehouse.log.{number}"))
}

impl RotationState {
    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..OLD_FILES).rev() {
            rename_if_exists(&rotated_path(&self.folder, number), &rotated_path(&self.folder, number + 1))?;
        }
        rename_if_exists(&current_path(&self.folder), &rotated_path(&self.folder, 1))?;
        self.file = open_private(&current_path(&self.folder))?;
        self.written = 0;
        Ok(())
    }
}

fn rename_if_exists(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

impl Write for &RotatedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock();
        if log.written >= log.max_bytes {
            log.rotate()?;
        }
        let count = log.file.write(bytes)?;
        log.written = log.written.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().file.flush()
    }
}

impl<'a> MakeWriter<'a> for RotatedFile {
    type Writer = &'a RotatedFile;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

fn open_private(path: &Path) -> io::Result<File> {
    owner_only::file(OpenOptions::new().append(true).create(true)).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotates_full_files_and_keeps_a_limited_number() {
        let dir = tempfile::tempdir().unwrap();
        let log = RotatedFile::open_sized(dir.path(), 4).unwrap();
        for line in 0..8 {
            (&log).write_all(format!("{line}234").as_bytes()).unwrap();
        }
        let mut names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["gatehouse.log", "gatehouse.log.1", "gatehouse.log.2", "gatehouse.log.3"]);
        assert_eq!(std::fs::read_to_string(current_path(dir.path())).unwrap(), "7234");
        assert_eq!(std::fs::read_to_string(rotated_path(dir.path(), 1)).unwrap(), "6234");
    }

    #[cfg(unix)]
    #[test]
    fn log_is_private_to_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("logs");
        let _log = RotatedFile::open(&folder).unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&current_path(&folder)), 0o600);
    }
}
