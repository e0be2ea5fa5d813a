//! Connecting an application: the new content of its settings files is computed first and shown, then exactly that is
//! written. What was there before is copied into Gatehouse's own folder first.

use std::path::Path;

use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::connection::{ConnectedFile, DocumentEdit, FileBackup, FileChange};
use gatehouse_model::{App, ErrorCode, UserError, message};
use sha2::{Digest as _, Sha256};

use super::settings_file::{self, SettingsFile, sha256, shown};
use super::{AllowRule, EntryCommand, PlannedFile, can_create_settings, planned_files, settings_path};
use crate::apps::AppSettings;
use crate::base_folders::BaseFolders;
use crate::diff::diff;
use crate::documents::Document;

/// What connecting an application does to its settings files.
#[derive(Debug)]
pub struct ConnectPlan {
    app: App,
    files: Vec<FileWithChange>,
    has_entry: bool,
}

#[derive(Debug)]
struct FileWithChange {
    planned: PlannedFile,
    file: SettingsFile,
    path: String,
    new: Vec<u8>,
}

impl ConnectPlan {
    /// Reads the files and computes their new content. Nothing is written. Blocks.
    ///
    /// # Errors
    /// When a file can't be read, parsed or edited.
    pub fn new(
        app: App,
        folders: &BaseFolders,
        command: &EntryCommand,
        rule: Option<AllowRule>,
    ) -> Result<Self, UserError> {
        let mut files = Vec::new();
        let mut has_entry = false;
        for (at, planned) in planned_files(app, folders, command, rule).into_iter().enumerate() {
            let file = SettingsFile::read(&planned.path)?;
            if file.content.is_none() && !can_create_settings(app) {
                let what = message!("error.connect.noSettings", app = app.display_name());
                let hint = message!("error.connect.noSettingsHint", app = app.display_name());
                return Err(UserError::new(ErrorCode::NotFound, what).with_hint(hint));
            }
            let path = file.path_text()?;
            let mut document =
                Document::parse(planned.format, file.bytes()).map_err(|error| error.about(&path))?;
            if at == 0 {
                has_entry = planned.edits.first().is_some_and(|edit| document.has_any(edit));
            }
            for edit in &planned.edits {
                document.apply(edit).map_err(|error| error.about(&path))?;
            }
            files.push(FileWithChange { new: document.to_bytes(), planned, file, path });
        }
        Ok(Self { app, files, has_entry })
    }

    /// Whether an entry of Gatehouse's name is there already, and is replaced.
    #[must_use]
    pub fn replaces_entry(&self) -> bool {
        self.has_entry
    }

    /// The changes for people.
    #[must_use]
    pub fn changes(&self) -> Vec<FileChange> {
        let change = |file: &FileWithChange| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (old, new) = (text(file.file.bytes()), text(&file.new));
            FileChange {
                path: file.path.clone(),
                is_new: file.file.content.is_none(),
                lines: diff(file.planned.format, &old, &new, &file.planned.edits),
            }
        };
        self.files.iter().map(change).collect()
    }

    /// Stands for the files, what is in them, and what will be: a plan with the same fingerprint does the same.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        part(self.app.as_str().as_bytes());
        for file in &self.files {
            part(file.path.as_bytes());
            part(&[u8::from(file.file.content.is_some())]);
            part(file.file.bytes());
            part(&file.new);
        }
        hex::encode(hash.finalize())
    }

    /// What is stored of the connection. Copies the files into the folder of backups. Blocks.
    ///
    /// # Errors
    /// When the disk refuses; copies that were made are left.
    pub fn back_up(&self, backups: &Path) -> Result<Vec<ConnectedFile>, UserError> {
        let connected = |(at, file): (usize, &FileWithChange)| -> Result<ConnectedFile, UserError> {
            let backup = match &file.file.content {
                Some(content) => {
                    let name = format!("{}-{at}", self.app.as_str());
                    let made = owner_only::make_folder(backups)
                        .and_then(|()| atomic_file::replace(&backups.join(&name), content));
                    made.map_err(|error| {
                        UserError::new(
                            ErrorCode::Storage,
                            message!("error.connect.noBackup", path = &file.path),
                        )
                        .with_cause(format!("{error}."))
                    })?;
                    Some(FileBackup { name, sha256: sha256(content) })
                }
                None => None,
            };
            Ok(ConnectedFile {
                path: file.path.clone(),
                edits: file.planned.edits.clone(),
                backup,
                written_sha256: sha256(&file.new),
            })
        };
        self.files.iter().enumerate().map(connected).collect()
    }

    /// Writes the files, unless one of them is no longer what was planned from. On an error none is changed. Blocks.
    ///
    /// # Errors
    /// When a file was changed meanwhile, or can't be written.
    pub fn write(&self) -> Result<(), UserError> {
        for file in &self.files {
            if !file.file.is_unchanged(&file.planned.path)? {
                let what = message!("error.connect.changedMeanwhile", path = &file.path);
                return Err(UserError::new(ErrorCode::BadConfig, what)
                    .with_hint(message!("error.connect.changedMeanwhileHint")));
            }
        }
        for (at, file) in self.files.iter().enumerate() {
            if let Err(error) = settings_file::write(&file.file.path, &file.new) {
                self.undo(at);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Restores the first files, as far as they still are what was written.
    fn undo(&self, count: usize) {
        for file in self.files.iter().take(count) {
            let path = &file.file.path;
            let is_ours =
                SettingsFile::read(path).is_ok_and(|now| now.content.as_deref() == Some(file.new.as_slice()));
            let undone = match &file.file.content {
                _ if !is_ours => Ok(()),
                Some(content) => settings_file::write(path, content),
                None => settings_file::remove(path),
            };
            if let Err(error) = undone {
                tracing::error!(%error, app = self.app.as_str(), "a settings file could not be restored");
            }
        }
    }
}

/// What a settings file has of Gatehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// No entry of Gatehouse's name.
    None,
    /// All that Gatehouse wrote.
    AsWritten,
    /// An entry of Gatehouse's name that it didn't write.
    Different,
}

/// What the settings of an application have of Gatehouse. `edits` is what it wrote, if it did. Blocks.
///
/// # Errors
/// When the file can't be read or parsed.
pub fn entry_state(
    app: App,
    folders: &BaseFolders,
    edits: Option<(&str, &[DocumentEdit])>,
) -> Result<EntryState, UserError> {
    let none = EntryCommand { program: String::new(), arguments: Vec::new() };
    let planned = planned_files(app, folders, &none, None);
    let any = planned.first().and_then(|file| file.edits.first());
    let path = edits.map_or_else(|| settings_path(app, folders), |(path, _)| path.into());
    let file = SettingsFile::read(&path)?;
    let document =
        Document::parse(app.format(), file.bytes()).map_err(|error| error.about(&shown(&file.path)))?;
    Ok(match edits {
        Some((_, edits)) if edits.iter().all(|edit| document.has(edit)) => EntryState::AsWritten,
        _ if any.is_some_and(|edit| document.has_any(edit)) => EntryState::Different,
        _ => EntryState::None,
    })
}
