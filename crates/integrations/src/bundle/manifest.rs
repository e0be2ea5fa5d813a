//! The manifest of a bundle (`manifest.json`), versions 0.1 to 0.4.
//!
//! Unknown members are left alone, as the specification asks. Everything that a person reads is one line without
//! hidden characters, or refused.

use std::collections::BTreeMap;

use gatehouse_common::invisible_chars::{has_hidden, one_line};
use gatehouse_mcp_wire::json;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{BundleError, ManifestError};

/// Versions of the manifest that can be read.
const VERSIONS: [&str; 4] = ["0.1", "0.2", "0.3", "0.4"];
const MAX_NAME_CHARS: usize = 100;
const MAX_LINE_CHARS: usize = 2_000;
const MAX_TEXT_CHARS: usize = 20_000;
const MAX_OPTIONS: usize = 64;
const MAX_TOOLS: usize = 500;
const MAX_ARGUMENTS: usize = 200;

/// A manifest that was checked.
#[derive(Clone, Debug)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) long_description: Option<String>,
    pub(super) author: Option<String>,
    pub(super) server: ManifestServer,
    pub(super) tools: Vec<ManifestTool>,
    pub(super) more_tools: bool,
    /// In the order of the manifest, by key.
    pub(super) options: Vec<(String, ManifestOption)>,
    pub(super) compatibility: Compatibility,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ManifestServer {
    #[serde(rename = "type")]
    pub(super) kind: ServerKind,
    #[serde(default)]
    pub(super) entry_point: Option<String>,
    #[serde(default)]
    pub(super) mcp_config: Option<McpConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ServerKind {
    Node,
    Python,
    Binary,
    Uv,
}

/// How the server is started.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct McpConfig {
    #[serde(default)]
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Option<Vec<String>>,
    #[serde(default)]
    pub(super) env: Option<BTreeMap<String, String>>,
    /// By the name of the system.
    #[serde(default)]
    pub(super) platform_overrides: BTreeMap<String, McpConfig>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ManifestTool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: Option<String>,
}

/// What the bundle needs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Compatibility {
    #[serde(default)]
    pub(super) platforms: Option<Vec<String>>,
    #[serde(default)]
    pub(super) runtimes: Option<BTreeMap<String, String>>,
}

/// An option that the user fills in.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ManifestOption {
    #[serde(rename = "type")]
    pub(super) kind: OptionKind,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) default: Option<Value>,
    #[serde(default)]
    pub(super) multiple: bool,
    #[serde(default)]
    pub(super) sensitive: bool,
    #[serde(default)]
    pub(super) min: Option<f64>,
    #[serde(default)]
    pub(super) max: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OptionKind {
    String,
    Number,
    Boolean,
    Directory,
    File,
}

/// A manifest as it is written.
#[derive(Deserialize)]
struct WrittenManifest {
    #[serde(default)]
    manifest_version: Option<String>,
    /// The name that the version had before.
    #[serde(default)]
    dxt_version: Option<String>,
    name: String,
    #[serde(default)]
    display_name: Option<String>,
    version: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    long_description: Option<String>,
    #[serde(default)]
    author: Option<ManifestAuthor>,
    server: ManifestServer,
    #[serde(default)]
    tools: Option<Vec<ManifestTool>>,
    #[serde(default)]
    tools_generated: Option<bool>,
    #[serde(default)]
    user_config: Option<Map<String, Value>>,
    #[serde(default)]
    compatibility: Option<Compatibility>,
}

#[derive(Deserialize)]
struct ManifestAuthor {
    name: String,
}

impl Manifest {
    /// Reads the text of a manifest.
    pub(super) fn read(text: &str) -> Result<Self, BundleError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Another reader could see another value of a key that occurs twice.
        json::read(text)
            .map_err(|defect| BundleError::Manifest(ManifestError::Json(format!("{defect}."))))?;
        let unreadable =
            |error: serde_json::Error| BundleError::Manifest(ManifestError::Json(format!("{error}.")));
        // The version first, since one that is not known can have any form.
        let any: Value = serde_json::from_str(text).map_err(unreadable)?;
        let version = ["manifest_version", "dxt_version"].iter().find_map(|name| any.get(name)?.as_str());
        if let Some(version) = version.filter(|version| !VERSIONS.contains(version)) {
            let version = one_line(version, MAX_NAME_CHARS);
            return Err(BundleError::UnknownVersion { version });
        }
        let written: WrittenManifest = serde_json::from_value(any).map_err(unreadable)?;
        if written.manifest_version.is_none() && written.dxt_version.is_none() {
            return Err(text_error("manifest_version"));
        }
        written.check()
    }
}

impl WrittenManifest {
    fn check(self) -> Result<Manifest, BundleError> {
        let name = self.display_name.unwrap_or(self.name);
        check_line("name", &name, MAX_NAME_CHARS)?;
        check_line("version", &self.version, MAX_NAME_CHARS)?;
        let author = self.author.map(|author| author.name);
        for (field, text) in [("author", &author), ("server.entry_point", &self.server.entry_point)] {
            text.as_deref().map_or(Ok(()), |text| check_line(field, text, MAX_LINE_CHARS))?;
        }
        check_text("description", &self.description, MAX_LINE_CHARS)?;
        let long_description = self.long_description.filter(|text| !text.trim().is_empty());
        long_description
            .as_deref()
            .map_or(Ok(()), |text| check_text("long_description", text, MAX_TEXT_CHARS))?;
        let tools = self.tools.unwrap_or_default();
        check_count("tools", tools.len(), MAX_TOOLS)?;
        for tool in &tools {
            check_line("tools", &tool.name, MAX_NAME_CHARS)?;
            tool.description.as_deref().map_or(Ok(()), |text| check_text("tools", text, MAX_TEXT_CHARS))?;
        }
        if let Some(config) = &self.server.mcp_config {
            check_config(config)?;
            config.platform_overrides.values().try_for_each(check_config)?;
        }
        let compatibility = self.compatibility.unwrap_or_default();
        for (runtime, version) in compatibility.runtimes.iter().flatten() {
            check_line("compatibility.runtimes", runtime, MAX_NAME_CHARS)?;
            check_line("compatibility.runtimes", version, MAX_NAME_CHARS)?;
        }
        Ok(Manifest {
            name,
            version: self.version,
            description: self.description,
            long_description,
            author,
            server: self.server,
            tools,
            more_tools: self.tools_generated.unwrap_or(false),
            options: read_options(self.user_config.unwrap_or_default())?,
            compatibility,
        })
    }
}

fn read_options(written: Map<String, Value>) -> Result<Vec<(String, ManifestOption)>, BundleError> {
    check_count("user_config", written.len(), MAX_OPTIONS)?;
    written
        .into_iter()
        .map(|(key, value)| {
            check_line("user_config", &key, MAX_NAME_CHARS)?;
            if key.contains(['{', '}', '$']) {
                return Err(text_error("user_config"));
            }
            let field = format!("user_config.{key}");
            let mut option: ManifestOption = serde_json::from_value(value)
                .map_err(|error| BundleError::Manifest(ManifestError::Json(format!("{field}: {error}."))))?;
            if option.title.trim().is_empty() {
                option.title.clone_from(&key);
            }
            check_line(&field, &option.title, MAX_LINE_CHARS)?;
            option.description.as_deref().map_or(Ok(()), |text| check_text(&field, text, MAX_LINE_CHARS))?;
            Ok((key, option))
        })
        .collect()
}

fn check_config(config: &McpConfig) -> Result<(), BundleError> {
    let args = config.args.as_deref().unwrap_or_default();
    check_count("server.mcp_config.args", args.len(), MAX_ARGUMENTS)?;
    check_count("server.mcp_config.env", config.env.as_ref().map_or(0, BTreeMap::len), MAX_ARGUMENTS)?;
    config
        .command
        .as_deref()
        .map_or(Ok(()), |command| check_line("server.mcp_config.command", command, MAX_LINE_CHARS))?;
    for arg in args {
        check_text("server.mcp_config.args", arg, MAX_TEXT_CHARS)?;
    }
    for (name, value) in config.env.iter().flatten() {
        check_line("server.mcp_config.env", name, MAX_NAME_CHARS)?;
        check_text("server.mcp_config.env", value, MAX_TEXT_CHARS)?;
    }
    Ok(())
}

fn check_count(field: &str, count: usize, limit: usize) -> Result<(), BundleError> {
    if count <= limit {
        return Ok(());
    }
    Err(BundleError::Manifest(ManifestError::TooMany { field: field.to_owned() }))
}

/// That a text is one line that says what it shows.
fn check_line(field: &str, text: &str, longest: usize) -> Result<(), BundleError> {
    if text.trim().is_empty() || text.contains(['\n', '\r', '\t']) {
        return Err(text_error(field));
    }
    check_text(field, text, longest)
}

/// That a text, which may have several lines or none, hides nothing.
fn check_text(field: &str, text: &str, longest: usize) -> Result<(), BundleError> {
    if text.chars().count() <= longest && !has_hidden(text) { Ok(()) } else { Err(text_error(field)) }
}

fn text_error(field: &str) -> BundleError {
    BundleError::Manifest(ManifestError::Text { field: field.to_owned() })
}
