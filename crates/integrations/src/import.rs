//! The servers in another application's settings, as Gatehouse would run them (UI-2). Each entry is translated to the one
//! shape that `servers.json` has, and `gatehouse-store` validates it; there is no second parser of servers here. Every
//! member is carried over or named as left out. Nothing is ever written to the other application's file.

mod fill;
mod find;
mod references;
mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gatehouse_model::import::{ImportInput, ImportedApprovals, LeftOutSetting};
use gatehouse_model::{App, ErrorCode, Message, UserError, message};
use serde_json::{Map, Value};

use crate::apps::{AppSettings, FileFormat};
use crate::base_folders::BaseFolders;
use crate::read_document::{self, BrokenText, MAX_BYTES};

pub use fill::{FilledServer, FoundSecret, has_plain_secret};

/// Most servers of one content.
const MAX_SERVERS: usize = 512;

/// What was read, with the servers in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignSettings {
    /// The application that wrote it, if that is known.
    pub app: Option<App>,
    /// The file; `None` for a text.
    pub file: Option<PathBuf>,
    /// The text itself, for its fingerprint.
    pub text: String,
    pub servers: Vec<ForeignServer>,
}

/// One server of another application.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignServer {
    /// Its name there; empty if it has none.
    pub name: String,
    /// Folder of the project that it is for.
    pub project: Option<String>,
    /// Its settings in the shape of `servers.json`. Texts contain `${input:ID}` for the values of its inputs.
    pub entry: Map<String, Value>,
    /// Values that have to be asked for.
    pub inputs: Vec<ImportInput>,
    pub auto_approve: Option<ImportedApprovals>,
    pub left_out: Vec<LeftOutSetting>,
    /// Why it can't be imported, as far as its translation shows.
    pub problem: Option<Message>,
}

/// The settings files of an application that exist, in the order in which the application looks for them. Blocks.
#[must_use]
pub fn existing_files(app: App, folders: &BaseFolders) -> Vec<PathBuf> {
    app.settings_files(folders).into_iter().filter(|path| path.exists()).collect()
}

/// Reads a file: as its application does if it is the settings file of one, else by its shape. Blocks.
///
/// # Errors
/// When it can't be read or there is no file.
pub fn read_file(path: &Path, folders: &BaseFolders) -> Result<ForeignSettings, UserError> {
    let app =
        App::ALL.iter().copied().find(|app| app.settings_files(folders).iter().any(|file| file == path));
    let Some(text) = read_document::read_text(path)? else {
        let what = message!("error.import.noFile", file = path.display().to_string());
        return Err(UserError::new(ErrorCode::NotFound, what));
    };
    let format = app.map_or_else(|| format_of(path), AppSettings::format);
    let document =
        read_document::parse(&text, format).map_err(|broken| broken.into_error(&text, Some(path)))?;
    let file = Some(path.to_owned());
    ForeignSettings::new(app, file, text, &document, folders)
}

/// Reads a pasted text in any of the usual shapes.
///
/// # Errors
/// When it is too large or none of them.
pub fn read_text(text: &str, folders: &BaseFolders) -> Result<ForeignSettings, UserError> {
    if text.len() > MAX_BYTES {
        return Err(UserError::new(ErrorCode::BadRequest, message!("error.import.textTooLarge")));
    }
    let text = read_document::without_byte_order_mark(text);
    let document = parse_any(text).map_err(|broken| broken.into_error(text, None))?;
    ForeignSettings::new(None, None, text.to_owned(), &document, folders)
}

/// An entry of a project's `.mcp.json` (GATE-4) in the shape of `servers.json`. Applications that read this file replace
/// `${NAME}` and `${NAME:-default}` in it.
///
/// # Errors
/// When it can't be translated whole: nobody is asked for values, and what only concerns the application's own window is
/// all that may be left out.
pub fn project_entry(name: &str, raw: Value, folders: &BaseFolders) -> Result<Map<String, Value>, Message> {
    let found = find::FoundEntry { name: name.to_owned(), project: None, raw };
    let mut server = translate::server(found, None, &[], folders);
    if let Some(problem) = server.problem {
        return Err(problem);
    }
    let is_lost = |left_out: &&LeftOutSetting| left_out.reason.key != translate::OF_APPLICATION;
    if let Some(lost) = server.left_out.iter().find(is_lost) {
        let (setting, reason) = (&lost.name, lost.reason.clone());
        return Err(message!("import.problem.notTranslated", setting = setting, reason = reason));
    }
    // The defaults stand in the file, so they are no secrets of the user's.
    for input in &mut server.inputs {
        input.is_secret = false;
    }
    Ok(server.fill(&BTreeMap::new(), true)?.entry)
}

impl ForeignServer {
    /// A server that Gatehouse exported: its entry already has the shape of `servers.json`. Of its inputs are asked for
    /// those that stand in it; references to secrets and variables stay references.
    #[must_use]
    pub fn own(name: &str, entry: &Map<String, Value>, declared: &[ImportInput]) -> Self {
        let text = Value::Object(entry.clone()).to_string();
        let is_used = |input: &&ImportInput| text.contains(&translate::input_place(&input.id));
        Self {
            name: name.to_owned(),
            project: None,
            entry: entry.clone(),
            inputs: declared.iter().filter(is_used).cloned().collect(),
            auto_approve: None,
            left_out: Vec::new(),
            problem: None,
        }
    }
}

impl ForeignSettings {
    fn new(
        app: Option<App>,
        file: Option<PathBuf>,
        text: String,
        document: &Value,
        folders: &BaseFolders,
    ) -> Result<Self, UserError> {
        let found = find::servers(document, app);
        if found.entries.len() > MAX_SERVERS {
            let most = MAX_SERVERS.to_string();
            return Err(UserError::new(ErrorCode::BadConfig, message!("error.import.tooMany", most = most)));
        }
        let app = app.or(found.app);
        let servers = found
            .entries
            .into_iter()
            .map(|entry| translate::server(entry, app, &found.inputs, folders))
            .collect();
        Ok(Self { app, file, text, servers })
    }
}

fn format_of(path: &Path) -> FileFormat {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "toml" => FileFormat::Toml,
        "yaml" | "yml" => FileFormat::Yaml,
        _ => FileFormat::Json,
    }
}

/// JSON, the inside of a JSON object, TOML or YAML. The error is that of JSON if it begins like it.
fn parse_any(text: &str) -> Result<Value, BrokenText> {
    let trimmed = text.trim();
    let json = read_document::parse(text, FileFormat::Json);
    if json.is_ok() || trimmed.starts_with('{') {
        return json;
    }
    if trimmed.starts_with('"') {
        let inside = format!("{{{trimmed}}}");
        return read_document::parse(&inside, FileFormat::Json).or(json);
    }
    let is_object = |value: &Value| value.is_object() || value.is_array();
    [FileFormat::Toml, FileFormat::Yaml]
        .into_iter()
        .filter_map(|format| read_document::parse(text, format).ok())
        .find(is_object)
        .map_or(json, Ok)
}
