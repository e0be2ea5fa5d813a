//! Servers of other applications that can be imported (UI-2): what was found in a settings file or a pasted text, and what
//! came of it. Values of secrets are in none of it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::app::App;
use crate::error::UserError;
use crate::id::ServerId;
use crate::message::Message;

/// A settings file of an application on this computer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportSource {
    pub app: App,
    /// Name of the application.
    pub name: String,
    /// Path of the file.
    pub file: String,
    /// How many servers are in it, without Gatehouse itself.
    pub servers: u32,
    /// How many of them have a name that no server of Gatehouse has.
    pub new_servers: u32,
    /// Why it could not be read.
    pub problem: Option<UserError>,
}

/// What a settings file or a text has to import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportPreview {
    /// SHA-256 of the content, for `imports.run`.
    pub fingerprint: String,
    /// The application that wrote it, if that is known.
    pub app: Option<App>,
    /// Path of the file; absent for a text.
    pub file: Option<String>,
    pub candidates: Vec<ImportCandidate>,
}

/// One server that can be imported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportCandidate {
    /// Its place in the content, from 0.
    pub index: u32,
    /// Name that it would get, which is one that Gatehouse takes.
    pub name: String,
    /// Folder of the project that it is for.
    pub project: Option<String>,
    /// Command line or address, without what looks like a secret.
    pub summary: String,
    /// Everything else that decides what runs or what is reached: variables, headers, the folder. Without secrets.
    pub settings: Vec<ImportedSetting>,
    /// Whether it would be on.
    pub enabled: bool,
    /// Fields with values that look like secrets and can go to the keychain: `env/NAME`, `headers/NAME`.
    pub secrets: Vec<String>,
    /// Whether a secret is in its arguments or its address, where it has to stay in plain text.
    pub has_plain_secret: bool,
    /// Values that are asked for.
    pub inputs: Vec<ImportInput>,
    /// What runs there without asking.
    pub auto_approve: Option<ImportedApprovals>,
    /// Settings that are not carried over.
    pub left_out: Vec<LeftOutSetting>,
    /// The server that has the name already.
    pub conflict: Option<ImportConflict>,
    /// Why it can't be imported; empty if it can.
    pub problems: Vec<Message>,
}

/// A value that is asked for before a server is imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportInput {
    /// Its id. Servers of the same content that have an input with the same id share its value.
    pub id: String,
    /// What to enter, in the words of the settings.
    pub description: Option<String>,
    /// Whether it goes to the keychain.
    pub is_secret: bool,
    /// Used where no value is given. That of a secret is shown to nobody.
    pub default: Option<String>,
    /// Whether there is a value that is used where none is given, shown or not.
    pub has_default: bool,
    /// The values to choose from; empty for any.
    pub options: Vec<String>,
}

impl ImportInput {
    /// The same for people, without the value of a secret.
    #[must_use]
    pub fn shown(&self) -> Self {
        let default = self.default.clone().filter(|_| !self.is_secret);
        Self { default, ..self.clone() }
    }
}

/// What another application runs without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ImportedApprovals {
    /// Every tool.
    All,
    /// These tools.
    Tools(Vec<String>),
}

/// A setting that is carried over, as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSetting {
    /// As `env.NAME`.
    pub name: String,
    pub value: String,
}

/// A setting that is not carried over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutSetting {
    /// Its name in the other application's settings.
    pub name: String,
    pub reason: Message,
}

/// A server of Gatehouse that has the name of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportConflict {
    pub server: ServerId,
    /// Whether it is reached in the same way, so that there is nothing to import.
    pub is_same: bool,
    /// A name that no server has.
    pub free_name: String,
}

/// What came of importing one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportOutcome {
    /// Its place in the content.
    pub index: u32,
    pub name: String,
    /// The server, if it was imported.
    pub server: Option<ServerId>,
    /// Why it was not imported; or, with a server, why what is to run without asking was not set.
    pub problem: Option<UserError>,
}
