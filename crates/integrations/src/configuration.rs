//! The configuration of Gatehouse as a document (DATA-4): servers in the usual shape, clients without tokens, profiles,
//! permanent permissions, settings and model providers without keys. Everything in it goes by names, since ids are of one Gatehouse only, and it holds
//! no secret. What this version doesn't know is refused and never skipped: a restriction could be lost with it. Nothing
//! here changes anything.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use gatehouse_mcp_wire::json::{self, JsonDefect, push_segment};
use gatehouse_model::command::SettingsSet;
use gatehouse_model::grant::Condition;
use gatehouse_model::import::ImportInput;
use gatehouse_model::provider::{ProviderApi, ProviderDraft};
use gatehouse_model::{
    AccessClass, ApprovedVersions, ErrorCode, ProfileSettings, RuleEffect, Scope, UserError, message,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::import::ForeignServer;
use crate::read_document::{self, BrokenText, MAX_BYTES};

/// The version of documents that is written, and the newest one that is read.
const VERSION: u32 = 1;
/// Most servers, profiles, clients, permissions and model providers of one document together.
const MAX_ITEMS: usize = 4096;
/// Longest id of an input, in bytes.
const LONGEST_ID: usize = 128;

/// A configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationDocument {
    /// The version of the format. Its presence is what tells such a document from settings of other applications.
    pub gatehouse_configuration: u32,
    /// Entries of servers by name, as in `servers.json` without the member `gatehouse`. Texts contain `${secret:NAME}`,
    /// `${env:NAME}` and `${input:ID}`.
    #[serde(default)]
    pub mcp_servers: Map<String, Value>,
    /// The inputs that entries refer to.
    #[serde(default)]
    pub inputs: Vec<InputVariable>,
    /// Servers by name.
    #[serde(default)]
    pub profiles: Vec<ProfileSettings>,
    #[serde(default)]
    pub clients: Vec<ExportedClient>,
    #[serde(default)]
    pub permissions: ExportedPermissions,
    /// As `settings.set` takes them.
    #[serde(default)]
    pub settings: Option<SettingsSet>,
    #[serde(default)]
    pub model_providers: Vec<ExportedProvider>,
}

/// A value that is asked for, as in VS Code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputVariable {
    #[serde(rename = "type")]
    pub kind: InputVariableKind,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is a secret.
    #[serde(default)]
    pub password: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// What to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// How a value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InputVariableKind {
    PromptString,
    PickString,
}

impl InputVariable {
    /// A secret that is asked for.
    #[must_use]
    pub fn secret(id: String) -> Self {
        Self {
            kind: InputVariableKind::PromptString,
            id,
            description: None,
            password: true,
            default: None,
            options: Vec::new(),
        }
    }

    fn to_input(&self) -> ImportInput {
        ImportInput {
            id: self.id.clone(),
            description: self.description.clone(),
            is_secret: self.password,
            default: self.default.clone(),
            has_default: self.default.is_some(),
            options: self.options.clone(),
        }
    }
}

/// A client that has a token of its own, without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedClient {
    pub name: String,
    /// Name of its profile.
    #[serde(default)]
    pub profile: Option<String>,
}

/// What permanently runs without asking, or never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExportedPermissions {
    pub rules: Vec<ExportedRule>,
    pub access_classes: Vec<ExportedClass>,
    /// Names of the servers whose read-only labels are trusted.
    pub trusted_labels: Vec<String>,
}

/// A permanent rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedRule {
    pub effect: RuleEffect,
    /// Name of the server; every server where absent, which only blocks are for.
    #[serde(default)]
    pub server: Option<String>,
    /// Name of the client; every client where absent.
    #[serde(default)]
    pub client: Option<String>,
    pub scope: Scope,
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The definitions of tools that an allow was given for (PERM-8), by name on the server. It covers no others.
    #[serde(default)]
    pub definitions: BTreeMap<String, ApprovedVersions>,
    /// What the model gets to read when the rule blocks a call.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The user's own access class of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedClass {
    /// Name of the server.
    pub server: String,
    /// Name of the tool on the server.
    pub tool: String,
    pub class: AccessClass,
}

/// A model provider without its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportedProvider {
    pub name: String,
    pub api: ProviderApi,
    pub base_url: String,
    #[serde(default)]
    pub default_model: Option<String>,
    /// Whether it has a key, which is asked for.
    #[serde(default)]
    pub has_key: bool,
}

impl ExportedProvider {
    /// The provider as a user would enter it.
    #[must_use]
    pub fn draft(&self) -> ProviderDraft {
        let Self { name, api, base_url, default_model, .. } = self.clone();
        ProviderDraft { name, api, base_url, default_model }
    }
}

/// A document with the text that it was read from.
#[derive(Clone, Debug)]
pub struct ReadConfiguration {
    pub text: String,
    pub document: ConfigurationDocument,
}

impl Default for ConfigurationDocument {
    fn default() -> Self {
        Self {
            gatehouse_configuration: VERSION,
            mcp_servers: Map::new(),
            inputs: Vec::new(),
            profiles: Vec::new(),
            clients: Vec::new(),
            permissions: ExportedPermissions::default(),
            settings: None,
            model_providers: Vec::new(),
        }
    }
}

impl ConfigurationDocument {
    /// Its text.
    ///
    /// # Errors
    /// When it can't be written as JSON.
    pub fn to_text(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Its servers, each with the inputs that it asks for.
    #[must_use]
    pub fn servers(&self) -> Vec<ForeignServer> {
        let inputs: Vec<ImportInput> = self.inputs.iter().map(InputVariable::to_input).collect();
        let server = |(name, entry): (&String, &Value)| match entry {
            Value::Object(entry) => ForeignServer::own(name, entry, &inputs),
            _ => ForeignServer {
                problem: Some(message!("import.problem.noObject")),
                ..ForeignServer::own(name, &Map::new(), &inputs)
            },
        };
        self.mcp_servers.iter().map(server).collect()
    }
}

/// Reads a file. Blocks.
///
/// # Errors
/// When there is no such file, or as [`read_configuration`].
pub fn read_configuration_file(path: &Path) -> Result<ReadConfiguration, UserError> {
    let Some(text) = read_document::read_text(path)? else {
        let what = message!("error.import.noFile", file = path.display().to_string());
        return Err(UserError::new(ErrorCode::NotFound, what));
    };
    read(text, Some(path))
}

/// Reads a text.
///
/// # Errors
/// When it isn't a configuration that this version knows in all of its members.
pub fn read_configuration(text: &str) -> Result<ReadConfiguration, UserError> {
    if text.len() > MAX_BYTES {
        return Err(UserError::new(ErrorCode::BadRequest, message!("error.import.textTooLarge")));
    }
    read(read_document::without_byte_order_mark(text).to_owned(), None)
}

fn read(text: String, file: Option<&Path>) -> Result<ReadConfiguration, UserError> {
    let bad = |what| UserError::new(ErrorCode::BadConfig, what);
    json::read(&text).map_err(|defect| match defect {
        JsonDefect::DuplicateKey { pointer } => {
            bad(message!("error.configuration.repeated", place = pointer))
        }
        JsonDefect::LoneSurrogate { pointer } => {
            bad(message!("error.configuration.unreadable", place = pointer))
        }
        JsonDefect::Malformed { offset } => BrokenText { byte: Some(offset) }.into_error(&text, file),
        JsonDefect::TooDeep => BrokenText { byte: None }.into_error(&text, file),
    })?;
    // Without the words of the error, which can repeat what stands there.
    let broken = |error: serde_json::Error| {
        let (line, column) = (error.line().to_string(), error.column().to_string());
        bad(message!("error.configuration.invalid", line = line, column = column))
    };
    let value: Value = serde_json::from_str(&text).map_err(broken)?;
    match value.get("gatehouseConfiguration").and_then(Value::as_u64) {
        None => return Err(bad(message!("error.configuration.other"))),
        Some(version) if version > u64::from(VERSION) => {
            return Err(UserError::new(ErrorCode::NewerVersion, message!("error.configuration.newer")));
        }
        Some(_) => {}
    }
    let document: ConfigurationDocument = serde_json::from_str(&text).map_err(broken)?;
    let known = serde_json::to_value(&document).map_err(broken)?;
    let mut pointer = String::new();
    if has_unknown_member(&value, &known, &mut pointer) {
        return Err(bad(message!("error.configuration.unknown", place = pointer)));
    }
    check_size(&document)?;
    check_inputs(&document)?;
    Ok(ReadConfiguration { text, document })
}

/// Whether an object in a value has a member that the value as it was understood doesn't have; `pointer` leads to it then.
fn has_unknown_member(value: &Value, known: &Value, pointer: &mut String) -> bool {
    let length = pointer.len();
    let mut is_unknown = |name: &str, value: &Value, known: Option<&Value>| {
        push_segment(pointer, name);
        let is_unknown = match known {
            Some(known) => has_unknown_member(value, known, pointer),
            // What is left out where it is empty.
            None => !(value.is_null() || value.as_array().is_some_and(Vec::is_empty)),
        };
        if !is_unknown {
            pointer.truncate(length);
        }
        is_unknown
    };
    match (value, known) {
        (Value::Object(members), Value::Object(known)) => {
            members.iter().any(|(name, value)| is_unknown(name, value, known.get(name)))
        }
        (Value::Array(items), Value::Array(known)) => {
            let mut items = items.iter().zip(known).enumerate();
            items.any(|(at, (item, known))| is_unknown(&at.to_string(), item, Some(known)))
        }
        _ => false,
    }
}

fn check_size(document: &ConfigurationDocument) -> Result<(), UserError> {
    let ConfigurationDocument { mcp_servers, profiles, clients, permissions, model_providers, .. } = document;
    let ExportedPermissions { rules, access_classes, trusted_labels } = permissions;
    let of_permissions = rules.len() + access_classes.len() + trusted_labels.len();
    let by_name = mcp_servers.len() + profiles.len() + clients.len() + model_providers.len();
    if by_name + of_permissions > MAX_ITEMS {
        let what = message!("error.configuration.tooMany", most = MAX_ITEMS.to_string());
        return Err(UserError::new(ErrorCode::BadConfig, what));
    }
    Ok(())
}

/// That ids of inputs can stand in texts, and each input is declared once.
fn check_inputs(document: &ConfigurationDocument) -> Result<(), UserError> {
    let mut ids = HashSet::new();
    let is_plain = |id: &str| {
        !id.is_empty()
            && id.len() <= LONGEST_ID
            && !id.contains(['{', '}', '"', '\\', '$'])
            && !id.contains(char::is_control)
    };
    match document.inputs.iter().find(|input| !is_plain(&input.id) || !ids.insert(&input.id)) {
        Some(input) => {
            let what = message!("error.configuration.badInput", input = &input.id);
            Err(UserError::new(ErrorCode::BadConfig, what))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::profile::OtherServers;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let document = ConfigurationDocument {
            mcp_servers: Map::from_iter([
                ("b".to_owned(), json!({ "command": "x" })),
                ("a".to_owned(), json!({})),
            ]),
            inputs: vec![InputVariable::secret("one-1".to_owned())],
            profiles: vec![ProfileSettings {
                name: "Work".to_owned(),
                other_servers: OtherServers::Hidden,
                ..ProfileSettings::default()
            }],
            clients: vec![ExportedClient { name: "Claude".to_owned(), profile: Some("Work".to_owned()) }],
            ..ConfigurationDocument::default()
        };
        let read = read_configuration(&document.to_text().unwrap()).unwrap();
        assert_eq!(read.document.to_text().unwrap(), document.to_text().unwrap());
        let order: Vec<&String> = read.document.mcp_servers.keys().collect();
        assert_eq!(order, ["b", "a"], "servers keep their order");
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (text, key) in [
            ("", "error.import.textBroken"),
            ("{", "error.import.textBroken"),
            (r#"{"mcpServers":{}}"#, "error.configuration.other"),
            (r#"{"gatehouseConfiguration":2}"#, "error.configuration.newer"),
            (r#"{"gatehouseConfiguration":1,"clients":1}"#, "error.configuration.invalid"),
            (r#"{"gatehouseConfiguration":1,"mcpServers":{"a":{},"a":{}}}"#, "error.configuration.repeated"),
            (r#"{"gatehouseConfiguration":1,"tokens":{}}"#, "error.configuration.unknown"),
            (
                r#"{"gatehouseConfiguration":1,"profiles":[{"name":"a","otherServer":"hidden"}]}"#,
                "error.configuration.unknown",
            ),
            (
                r#"{"gatehouseConfiguration":1,"inputs":[{"type":"promptString","id":"a}"}]}"#,
                "error.configuration.badInput",
            ),
            (
                r#"{"gatehouseConfiguration":1,"inputs":[{"type":"command","id":"a"}]}"#,
                "error.configuration.invalid",
            ),
        ] {
            let found = read_configuration(text).unwrap_err();
            assert!(
                matches!(&found.message, gatehouse_model::UserText::Message(message) if message.key == key),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn servers_ask_for_the_inputs_that_they_use() {
        let text = r#"{"gatehouseConfiguration":1,
            "mcpServers":{"a":{"command":"x","args":["--key=${input:k}"]},"b":{"command":"x"},"c":1},
            "inputs":[{"type":"promptString","id":"k","password":true},{"type":"pickString","id":"l","options":["1"]}]}"#;
        let servers = read_configuration(text).unwrap().document.servers();
        let asked: Vec<usize> = servers.iter().map(|server| server.inputs.len()).collect();
        assert_eq!(asked, [1, 0, 0]);
        assert!(servers[0].inputs[0].is_secret && servers[2].problem.is_some());
    }
}
