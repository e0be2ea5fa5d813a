//! AI applications that Gatehouse connected by an entry in their settings files (UI-6): what is stored of a connection,
//! and how applications, proposed changes and their results are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::app::App;
use crate::client::ClientView;
use crate::error::UserError;
use crate::id::ClientId;
use crate::time::Timestamp;

/// One change of a settings document. It can be repeated, and taken back, without knowing the rest of the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum DocumentEdit {
    /// Sets a member of an object. Objects on the way to it are created.
    Member { path: Vec<String>, value: Value },
    /// Adds an item to a list, in place of an object with the same `name`. The list is created.
    Item { path: Vec<String>, value: Value },
}

/// All connections of one Gatehouse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredConnections {
    pub apps: BTreeMap<App, StoredConnection>,
}

/// What is needed to show a connection and to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredConnection {
    /// The client whose token the entry uses.
    pub client: ClientId,
    pub connected: Timestamp,
    pub files: Vec<ConnectedFile>,
}

/// One settings file that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectedFile {
    /// The file itself, after symbolic links were followed.
    pub path: String,
    /// What Gatehouse changed in it.
    pub edits: Vec<DocumentEdit>,
    /// The copy of the file before the change; absent where there was no file.
    pub backup: Option<FileBackup>,
    /// SHA-256 of the file as Gatehouse wrote it, lower-case hexadecimal.
    pub written_sha256: String,
}

/// A copy of a settings file, in the folder of backups. It counts only if it still has this digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileBackup {
    /// Name of the copy.
    pub name: String,
    /// Lower-case hexadecimal.
    pub sha256: String,
}

/// How an application is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionState {
    /// Gatehouse didn't connect it, or it was disconnected.
    NotConnected,
    /// The entry is in its settings as Gatehouse wrote it.
    Connected,
    /// Somebody has changed or removed the entry since.
    ChangedByHand,
    /// The entry is there, and its client was revoked.
    Revoked,
}

/// An AI application, and whether it is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AppView {
    pub app: App,
    pub name: String,
    /// Whether it was found on this computer: its settings folder or its program.
    pub is_installed: bool,
    /// Its settings file, whether or not it exists.
    pub settings_file: String,
    pub state: ConnectionState,
    /// Whether its settings have an entry of Gatehouse's name that Gatehouse didn't write.
    pub has_foreign_entry: bool,
    /// The client of the connection.
    pub client: Option<ClientView>,
    /// When the client last called a tool.
    pub last_call: Option<Timestamp>,
    /// Why its settings can't be read.
    pub problem: Option<UserError>,
}

/// What happened to a line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DiffLineKind {
    Kept,
    Added,
    Removed,
    /// Stands for unchanged lines that are left out.
    Gap,
}

/// One line of a change. Values that Gatehouse neither wrote nor writes are masked in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiffLine {
    pub kind: DiffLineKind,
    pub text: String,
    /// Its number before the change, from 1.
    pub old: Option<u32>,
    /// Its number after the change, from 1.
    pub new: Option<u32>,
}

/// How one settings file would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The file itself, after symbolic links were followed.
    pub path: String,
    /// Whether the file is created.
    pub is_new: bool,
    pub lines: Vec<DiffLine>,
}

/// What connecting an application would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConnectPreview {
    pub app: App,
    pub name: String,
    /// Name of the client that is added.
    pub client: String,
    pub files: Vec<FileChange>,
    /// Whether an entry of Gatehouse's name is replaced.
    pub replaces_entry: bool,
    /// Whether the application has a rule by which it doesn't ask about Gatehouse's tools itself.
    pub has_allow_rule: bool,
    /// Stands for exactly this change; `clients.connect` refuses another one.
    pub fingerprint: String,
}

/// What makes an application read its settings again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SettingsReload {
    /// It sees the change by itself.
    Automatic,
    /// It has to be restarted.
    Restart,
    /// Its next session reads them.
    NextSession,
}

/// An application that was connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConnectResult {
    pub app: App,
    pub name: String,
    pub client: ClientView,
    /// The files that were written.
    pub files: Vec<String>,
    pub reload: SettingsReload,
}

/// What was done to a settings file when its application was disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RestoredHow {
    /// It has the bytes again that it had before.
    Restored,
    /// It was removed, since Gatehouse had created it.
    Deleted,
    /// Only Gatehouse's entry was taken out, since the file was changed after it was connected.
    EntryRemoved,
    /// Nothing of Gatehouse was left in it.
    Unchanged,
}

/// One settings file of an application that was disconnected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    pub path: String,
    pub how: RestoredHow,
}

/// An application that was disconnected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DisconnectResult {
    pub app: App,
    pub name: String,
    pub files: Vec<RestoredFile>,
    pub reload: SettingsReload,
}
