//! What a user decides about servers of other applications that are imported (UI-2).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::values::RequestSecret;
use crate::app::App;

/// Where servers are imported from.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImportOrigin {
    /// The settings of an application: the first of its files that exists.
    App(App),
    /// A file, by its absolute path. If it is the settings file of an application, it is read as that application does.
    File(String),
    /// A pasted text in any of the usual shapes. It may hold secrets.
    Text(RequestSecret),
}

/// What is to become of one candidate. Those that are not chosen are left alone.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportChoice {
    /// Its place in the content.
    pub index: u32,
    pub action: ImportAction,
    /// Whether values that look like secrets stay in plain text instead of going to the keychain.
    #[serde(default)]
    pub keep_plain: bool,
    /// Whether what runs there without asking also does here.
    #[serde(default)]
    pub auto_approve: bool,
    /// Values of its inputs.
    #[serde(default)]
    pub inputs: Vec<ImportInputValue>,
}

/// How a server is imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ImportAction {
    /// As a new server, under its name.
    Add,
    /// In place of the settings of the server that has the name.
    Overwrite,
    /// As a new server, under this name.
    Rename(String),
}

/// What is done with a server whose name another one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum NameConflict {
    /// It is not imported.
    #[default]
    Skip,
    /// It is imported in place of the other's settings.
    Overwrite,
    /// It is imported under a name that is free.
    Rename,
}

/// The value of one input.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportInputValue {
    pub id: String,
    pub value: RequestSecret,
}
