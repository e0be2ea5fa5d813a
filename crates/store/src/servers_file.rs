//! `servers.json` (DATA-1): readable, may be edited by the user, trusted only where it agrees with the copy
//! that the user confirmed (PERM-16).
//!
//! What runs is always the sealed copy. An edit of the file by hand becomes a [`HandEdit`] that the user
//! accepts or discards, except for display properties and the order, which take effect at once. A file that
//! can't be read, or is of a newer version, is never overwritten.

use std::path::{Path, PathBuf};

use gatehouse_model::approval::ConfigChangeRequest;
use gatehouse_model::{ErrorCode, Message, ServerConfig, ServerId, UserError, message};
use parking_lot::Mutex;

use crate::data_folder::folder;
use crate::error::{SealError, StoreError};
use crate::random::random_bytes;
use crate::sealed::record::Sealed;

mod changes;
mod compose;
mod document;
mod entry;
mod entry_text;
mod fields;
mod kept_values;
mod merge;
mod migrate;
mod name;
mod portable;
mod problem;
mod project_file;
mod redacted;
mod rules;
mod setting_changes;
mod spelling;
mod watch;

use document::{InvalidDocument, ServersDocument};
use merge::MergedServers;
use watch::KnownContent;

pub use changes::{diff_settings, holds_secret, list_settings, shown_value};
pub use entry_text::EntryText;
pub use kept_values::{fill_kept_values, settings_text};
pub use name::to_server_name;
pub use portable::{PortableEntry, portable_entry, secret_reference};
pub use problem::{ConfigProblem, SettingsView};
pub use project_file::{PROJECT_FILE, ProjectFile, ProjectServerEntry, project_change, read_project_file};
pub use redacted::{check_hidden_values, redact_transport};
pub use rules::{validate_draft, validate_name, validate_secrets};
pub use setting_changes::changed_settings_text;
pub use watch::WatchGuard;

const FILE: &str = "servers.json";
const BACKUP: &str = "servers.json.bak";

/// `servers.json` with the confirmed copy that runs. All calls block on the disk and on the secret store.
pub struct ServersFile {
    path: PathBuf,
    backup: PathBuf,
    confirmed: Sealed<Vec<ServerConfig>>,
    known_content: KnownContent,
    /// Serializes reads and writes.
    io_lock: Mutex<()>,
}

/// The combined state of `servers.json` and its confirmed copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedServers {
    /// What runs: the last confirmed copy, with the display properties and the order of the file. Empty if
    /// the copy could not be read or verified.
    pub servers: Vec<ServerConfig>,
    /// Why the confirmed copy could not be read or verified. An empty `servers` doesn't mean then that there
    /// are none, so nothing may be stopped or deleted because of it.
    pub seal_error: Option<SealError>,
    /// Errors in the file or the confirmed copy.
    pub problems: Vec<UserError>,
    /// Edits by hand that wait for the user's confirmation.
    pub unconfirmed: Vec<HandEdit>,
}

/// One edit by hand that waits for confirmation.
#[derive(Clone, Debug, PartialEq)]
pub struct HandEdit {
    /// The content of the request to the user.
    pub request: ConfigChangeRequest,
    /// The server as it runs; absent if it is new.
    pub before: Option<ServerConfig>,
    /// The server as in the file; absent if it was removed. A new server gets its id when it is confirmed;
    /// this one is a placeholder.
    pub after: Option<ServerConfig>,
}

/// The file as found on the disk.
enum FileOnDisk {
    Missing,
    Text(Vec<u8>, ServersDocument),
    InvalidDocument(UserError),
}

impl ServersFile {
    pub(crate) fn open(dir: &Path, confirmed: Sealed<Vec<ServerConfig>>) -> Result<Self, StoreError> {
        let (path, backup) = (dir.join(FILE), dir.join(BACKUP));
        folder::restrict_to_owner(&path)?;
        folder::restrict_to_owner(&backup)?;
        Ok(Self { path, backup, confirmed, known_content: KnownContent::default(), io_lock: Mutex::new(()) })
    }

    /// Loads the file and its confirmed copy. Never writes the file.
    pub fn load(&self) -> LoadedServers {
        let _guard = self.io_lock.lock();
        self.load_locked()
    }

    /// The confirmed copy, if one was ever sealed.
    ///
    /// # Errors
    /// When it exists and is rejected, or can't be verified.
    pub fn confirmed(&self) -> Result<Option<Vec<ServerConfig>>, SealError> {
        let _guard = self.io_lock.lock();
        self.confirmed.load()
    }

    /// Replaces the servers: writes the file and seals the copy. What else the file contains (invalid
    /// entries, unconfirmed edits, members of other programs) is preserved. Durable on return; after an error
    /// what runs is unchanged, and so is the file, unless restoring it failed too.
    ///
    /// # Errors
    /// [`StoreError::Config`] for a name that is invalid or taken, a changed transport without a new
    /// generation, and a file that is broken or of a newer version; [`StoreError::Seal`] if the confirmed
    /// copy is rejected; otherwise when the disk or the secret store refuses.
    pub fn save(&self, servers: &[ServerConfig]) -> Result<(), StoreError> {
        let _guard = self.io_lock.lock();
        self.confirmed.load()?;
        self.write_and_seal(servers, None)
    }

    /// As [`ServersFile::save`], for actions of the user: also replaces a confirmed copy whose seal is
    /// invalid.
    ///
    /// # Errors
    /// As [`ServersFile::save`], with [`StoreError::Seal`] only if the copy can't be verified at the moment.
    pub fn overwrite(&self, servers: &[ServerConfig]) -> Result<(), StoreError> {
        let _guard = self.io_lock.lock();
        self.write_and_seal(servers, None)
    }

    /// Accepts or discards a hand edit: if accepted, it becomes what runs; otherwise, what runs is written to
    /// the file. Returns the new state.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if the file no longer contains this edit; otherwise as
    /// [`ServersFile::save`].
    pub fn confirm(&self, edit: &HandEdit, accept: bool) -> Result<LoadedServers, StoreError> {
        let _guard = self.io_lock.lock();
        let loaded = self.load_locked();
        if !loaded.unconfirmed.contains(edit) {
            return Err(StoreError::Config(
                UserError::new(ErrorCode::StaleAnswer, message!("error.store.fileChangedAgain", file = FILE))
                    .with_hint(message!("error.store.fileChangedAgainHint")),
            ));
        }
        let mut servers = loaded.servers;
        if accept {
            match (&edit.before, &edit.after) {
                (None, Some(after)) => {
                    let id = ServerId::from_random(u64::from_be_bytes(random_bytes()?));
                    servers.push(ServerConfig { id, ..after.clone() });
                }
                (Some(before), Some(after)) => {
                    for server in servers.iter_mut().filter(|server| server.id == before.id) {
                        server.clone_from(after);
                    }
                }
                (Some(before), None) => servers.retain(|server| server.id != before.id),
                (None, None) => {}
            }
        }
        self.write_and_seal(&servers, Some(edit))?;
        Ok(self.load_locked())
    }

    /// Calls `on_change` on a thread of its own about 200 ms after another program edited the file, until the
    /// guard is dropped. The callback should then call [`ServersFile::load`].
    pub fn watch(&self, on_change: Box<dyn Fn() + Send + Sync>) -> Result<WatchGuard, StoreError> {
        self.known_content.set_if_unknown(std::fs::read(&self.path).ok().as_deref());
        watch::watch(self.path.clone(), self.known_content.clone(), on_change)
    }

    fn load_locked(&self) -> LoadedServers {
        let on_disk = self.read();
        let (confirmed, seal_error) = match self.confirmed.load() {
            Ok(confirmed) => (with_raised_limits(confirmed.unwrap_or_default()), None),
            Err(error @ SealError::Locked { .. }) => {
                // The copy may be valid once the secret store is unlocked, so no edits are presented now.
                let problems = vec![error.clone().into()];
                return LoadedServers { problems, seal_error: Some(error), ..LoadedServers::default() };
            }
            Err(error) => (Vec::new(), Some(error)),
        };
        let MergedServers { servers, mut problems, edits, .. } = match on_disk {
            FileOnDisk::Text(_, document) => merge::merge(document.entries, &confirmed),
            FileOnDisk::Missing => merge_missing_file(confirmed),
            FileOnDisk::InvalidDocument(problem) => {
                MergedServers { servers: confirmed, problems: vec![problem], ..MergedServers::default() }
            }
        };
        problems.extend(seal_error.clone().map(broken_seal_error));
        LoadedServers { servers, seal_error, problems, unconfirmed: edits }
    }

    /// Writes and seals a list in place of the current one.
    fn write_and_seal(&self, servers: &[ServerConfig], settled: Option<&HandEdit>) -> Result<(), StoreError> {
        let sealed = match self.confirmed.load() {
            Ok(sealed) => sealed,
            Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => {
                return Err(error.into());
            }
            // The seal is broken, which the user was told. Saving starts a new one.
            Err(error) => {
                tracing::warn!(%error, "the confirmed servers are sealed anew");
                None
            }
        };
        let is_sealed = sealed.as_deref() == Some(servers);
        let confirmed = with_raised_limits(sealed.unwrap_or_default());
        let (before, rest, merged) = match self.read() {
            FileOnDisk::Text(bytes, ServersDocument { entries, rest, .. }) => {
                (Some(bytes), rest, merge::merge(entries, &confirmed))
            }
            FileOnDisk::Missing => (None, Vec::new(), merge_missing_file(confirmed)),
            FileOnDisk::InvalidDocument(error) => return Err(StoreError::Config(error)),
        };
        validate_servers(servers, &merged.servers)?;
        let text = document::write(&compose::compose(&merged, servers, settled)?, &rest)?;
        let changed = before.as_deref() != Some(text.as_bytes());
        if changed {
            if let Some(before) = &before {
                folder::replace(&self.backup, before)?;
            }
            self.known_content
                .record_own_write(Some(text.as_bytes()), || folder::replace(&self.path, text.as_bytes()))?;
        }
        if is_sealed {
            return Ok(());
        }
        let sealed = self.confirmed.overwrite(&servers.to_vec());
        if sealed.is_err() && changed {
            self.roll_back(before.as_deref());
        }
        sealed
    }

    /// Restores the file after sealing failed. If that fails too, the written content counts as an
    /// unconfirmed edit, so nothing of it runs.
    fn roll_back(&self, before: Option<&[u8]>) {
        let undone = self.known_content.record_own_write(before, || match before {
            Some(before) => folder::replace(&self.path, before),
            None => std::fs::remove_file(&self.path)
                .map_err(StoreError::io(message!("error.store.fileUnremoved", file = FILE))),
        });
        if let Err(error) = undone {
            tracing::error!(%error, "a settings file could not be put back");
        }
    }

    fn read(&self) -> FileOnDisk {
        let unusable = |error: UserError| {
            FileOnDisk::InvalidDocument(error.with_hint(message!("error.store.fileUnusableHint")))
        };
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.known_content.set_if_unknown(None);
                return FileOnDisk::Missing;
            }
            Err(error) => {
                return unusable(
                    UserError::new(ErrorCode::Storage, message!("error.store.fileUnread", file = FILE))
                        .with_cause(format!("{error}.")),
                );
            }
        };
        self.known_content.set_if_unknown(Some(&bytes));
        let broken = |line: usize, column: usize, reason: &str| {
            unusable(
                UserError::new(
                    ErrorCode::BadConfig,
                    message!(
                        "error.store.fileBroken",
                        file = FILE,
                        line = line.to_string(),
                        column = column.to_string()
                    ),
                )
                .with_cause(format!("{reason}.")),
            )
        };
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let sound = &bytes[..error.valid_up_to()];
                let line = sound.iter().filter(|byte| **byte == b'\n').count() + 1;
                let column = sound.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
                return broken(line, column, "it is not UTF-8 text");
            }
        };
        match document::read(text) {
            Ok(document) => {
                let document = migrate::migrate_to_current(document);
                FileOnDisk::Text(bytes, document)
            }
            Err(InvalidDocument::Broken { line, column, reason }) => broken(line, column, &reason),
            Err(InvalidDocument::Newer { version }) => unusable(
                UserError::new(ErrorCode::NewerVersion, message!("error.store.fileNewer", file = FILE))
                    .with_cause(message!(
                        "error.store.fileNewerCause",
                        version = version.to_string(),
                        known = document::VERSION.to_string()
                    )),
            ),
        }
    }
}

fn merge_missing_file(confirmed: Vec<ServerConfig>) -> MergedServers {
    let gone = UserError::new(ErrorCode::BadConfig, message!("error.store.fileGone", file = FILE))
        .with_cause(message!("error.store.fileGoneCause"))
        .with_hint(message!("error.store.fileGoneHint"));
    let problems = if confirmed.is_empty() { Vec::new() } else { vec![gone] };
    MergedServers { servers: confirmed, problems, ..MergedServers::default() }
}

fn broken_seal_error(error: SealError) -> UserError {
    let mut error = UserError::from(error);
    error.hint = Some(message!("error.store.sealHint", file = FILE).into());
    error
}

/// The confirmed servers with their limits as an entry is read, so that neither differs from the other.
fn with_raised_limits(mut servers: Vec<ServerConfig>) -> Vec<ServerConfig> {
    for server in &mut servers {
        rules::raise_zeros(&mut server.limits);
    }
    servers
}

/// Validates a list before it is saved.
fn validate_servers(servers: &[ServerConfig], running: &[ServerConfig]) -> Result<(), StoreError> {
    let mut names = std::collections::HashSet::new();
    let mut ids = std::collections::HashSet::new();
    for server in servers {
        let refuse = |code, what: Message| Err(StoreError::Config(UserError::new(code, what)));
        let name = &server.name;
        if let Some(problem) = validate_name(name, None, &[]) {
            return Err(StoreError::Config(problem.into()));
        }
        if !names.insert(name::fold_case(name)) {
            return refuse(ErrorCode::NameTaken, message!("error.store.nameTaken", name = name));
        }
        if !ids.insert(&server.id) {
            return refuse(ErrorCode::Internal, message!("error.store.idTaken", name = name));
        }
        let Some(before) = running.iter().find(|before| before.id == server.id) else { continue };
        let is_other = before.transport != server.transport;
        if server.generation < before.generation || (is_other && server.generation == before.generation) {
            let what = message!("error.store.noNewGeneration", name = name);
            return refuse(ErrorCode::Internal, what);
        }
    }
    Ok(())
}
