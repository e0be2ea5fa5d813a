//! Disconnecting an application: a settings file that still is what Gatehouse wrote gets its former bytes again; from one
//! that was changed since, only what Gatehouse wrote is taken out.
//!
//! A backup counts only with the digest that is stored under a seal, so nobody can have other bytes written by it.

use std::path::Path;

use gatehouse_common::regular_file::{self, SymbolicLinks};
use gatehouse_model::connection::{ConnectedFile, RestoredFile, RestoredHow};
use gatehouse_model::{App, ErrorCode, UserError, message};
use serde_json::Value;

use super::settings_file::{self, SettingsFile, sha256};
use crate::apps::AppSettings as _;
use crate::documents::{Document, DocumentError};
use crate::read_document::MAX_BYTES;

/// What disconnecting does to the settings files of an application.
#[derive(Debug)]
pub struct RestorePlan {
    files: Vec<PlannedRestore>,
}

#[derive(Debug)]
struct PlannedRestore {
    /// The file as it was read.
    file: SettingsFile,
    /// The path that is stored of the connection.
    path: String,
    change: RestoreChange,
}

#[derive(Debug)]
enum RestoreChange {
    /// The bytes before.
    Restore(Vec<u8>),
    /// There was no file before.
    Delete,
    /// The file without what Gatehouse wrote.
    Edit(Vec<u8>),
    Nothing,
}

impl RestorePlan {
    /// Computes what is to be done to each file. Nothing is written. Blocks.
    ///
    /// # Errors
    /// When a file can't be read, or was changed so that it can't be parsed or edited any more.
    pub fn new(app: App, files: &[ConnectedFile], backups: &Path) -> Result<Self, UserError> {
        let files =
            files.iter().map(|connected| plan_one(app, connected, backups)).collect::<Result<_, _>>()?;
        Ok(Self { files })
    }

    /// Writes the files, unless one of them is no longer what was planned from; then none is changed. Blocks.
    ///
    /// # Errors
    /// When a file was changed meanwhile, or can't be written.
    pub fn write(&self) -> Result<Vec<RestoredFile>, UserError> {
        for planned in &self.files {
            if !planned.file.is_unchanged(Path::new(&planned.path))? {
                let what = message!("error.connect.changedWhileDisconnecting", path = &planned.path);
                return Err(UserError::new(ErrorCode::BadConfig, what)
                    .with_hint(message!("error.connect.changedWhileDisconnectingHint")));
            }
        }
        self.files.iter().map(PlannedRestore::write).collect()
    }
}

impl PlannedRestore {
    fn write(&self) -> Result<RestoredFile, UserError> {
        let path = &self.file.path;
        let how = match &self.change {
            RestoreChange::Restore(content) => {
                settings_file::write(path, content)?;
                RestoredHow::Restored
            }
            RestoreChange::Delete => {
                settings_file::remove(path)?;
                RestoredHow::Deleted
            }
            RestoreChange::Edit(content) => {
                settings_file::write(path, content)?;
                RestoredHow::EntryRemoved
            }
            RestoreChange::Nothing => RestoredHow::Unchanged,
        };
        Ok(RestoredFile { path: self.path.clone(), how })
    }
}

fn plan_one(app: App, connected: &ConnectedFile, backups: &Path) -> Result<PlannedRestore, UserError> {
    let file = SettingsFile::read(Path::new(&connected.path))?;
    let before = backup_of(connected, backups);
    let change = match (&file.content, &connected.backup, before) {
        (None, _, _) => RestoreChange::Nothing,
        (Some(content), None, _) if sha256(content) == connected.written_sha256 => RestoreChange::Delete,
        (Some(content), Some(_), Some(before)) if sha256(content) == connected.written_sha256 => {
            RestoreChange::Restore(before)
        }
        (Some(content), _, before) => without_edits(app, connected, content, before.as_deref())?,
    };
    Ok(PlannedRestore { file, path: connected.path.clone(), change })
}

/// The file without what Gatehouse wrote, with what was in its place before.
fn without_edits(
    app: App,
    connected: &ConnectedFile,
    content: &[u8],
    before: Option<&[u8]>,
) -> Result<RestoreChange, UserError> {
    // Claude Code's rules are in a file of the same format as its servers.
    let format = app.format();
    let unusable = |error: DocumentError| error.about(&connected.path);
    let mut document = Document::parse(format, content).map_err(unusable)?;
    let before = before.and_then(|before| Document::parse(format, before).ok());
    let before = before.as_ref().map_or(&Value::Null, Document::value);
    for edit in connected.edits.iter().rev() {
        document.revert(edit, before).map_err(unusable)?;
    }
    let edited = document.to_bytes();
    Ok(if edited == content { RestoreChange::Nothing } else { RestoreChange::Edit(edited) })
}

/// The bytes of a file before it was changed, if the copy is what it was.
fn backup_of(connected: &ConnectedFile, backups: &Path) -> Option<Vec<u8>> {
    let backup = connected.backup.as_ref()?;
    let path = backups.join(&backup.name);
    let content = regular_file::read(&path, MAX_BYTES as u64, SymbolicLinks::Refuse).ok()??;
    (sha256(&content) == backup.sha256).then_some(content)
}
