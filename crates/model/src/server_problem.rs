//! What is wrong with a server's settings, as `servers.validate` answers it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::grant::FieldChange;
use crate::message::Message;
use crate::server::ServerDraft;

/// Settings of a server that are to be validated.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SettingsInput {
    /// As the form holds them.
    Draft(Box<ServerDraft>),
    /// As JSON text: an object with one server, its name and its entry in servers.json. A placeholder that
    /// `servers.settingsText` wrote, such as `${kept:env/TOKEN}`, stands for the value that is stored there.
    Json(String),
    /// What differs from the settings that are stored; everything else stays as it is. In a value, too, a placeholder of
    /// `servers.settingsText` stands for what is stored there.
    Changes(Vec<SettingChange>),
}

/// One setting of a server with its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettingChange {
    /// JSON pointer to the setting within the server's entry in servers.json, as `/env/MODE`; `/name` for its name.
    pub pointer: String,
    /// The value as JSON; absent where it becomes what it is by default, or is removed.
    pub value: Option<String>,
}

/// What came of validating the settings of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ValidationReport {
    /// The settings; absent where a text could not be read.
    pub draft: Option<ServerDraft>,
    /// Everything that is wrong with them; empty if they may be saved.
    pub problems: Vec<ServerProblem>,
    /// What they change of the server that is edited, field by field, with secrets masked.
    pub changes: Vec<FieldChange>,
}

/// One thing that is wrong with the settings of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerProblem {
    /// JSON pointer to the field within the server's entry in servers.json; `/name` for its name. The
    /// field may be absent.
    pub pointer: String,
    /// What is wrong with it.
    pub message: Message,
    /// Its place in the text that was validated; absent for a draft.
    pub span: Option<TextSpan>,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TextSpan {
    /// Where it begins, in UTF-16 code units from the start of the text.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
}
