//! Finds the entries of servers in a document, and which application it is of, by its shape.

use gatehouse_common::invisible_chars::one_line;
use gatehouse_common::secret_names::is_secret_setting;
use gatehouse_model::App;
use gatehouse_model::import::ImportInput;
use serde_json::{Map, Value};

use crate::apps::{AppSettings as _, ServersPlace};

/// Longest description of an input, in characters.
const LONGEST_DESCRIPTION: usize = 200;

/// What a document has.
#[derive(Debug, Default)]
pub(super) struct FoundServers {
    /// The application, where only one writes documents of this shape.
    pub(super) app: Option<App>,
    pub(super) entries: Vec<FoundEntry>,
    /// The inputs that entries refer to.
    pub(super) inputs: Vec<ImportInput>,
}

/// An entry as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundEntry {
    /// Empty if it has no name.
    pub(super) name: String,
    pub(super) project: Option<String>,
    pub(super) raw: Value,
}

/// The entries of a document. What an application doesn't read as a server isn't one.
pub(super) fn servers(document: &Value, app: Option<App>) -> FoundServers {
    let Value::Object(document) = document else {
        return FoundServers { entries: listed(document), ..FoundServers::default() };
    };
    match app {
        Some(app) => of_app(document, app),
        None => by_shape(document),
    }
}

fn of_app(document: &Map<String, Value>, app: App) -> FoundServers {
    let place = app.servers_place();
    let mut entries = match (place, document.get(place.key())) {
        (ServersPlace::Map(_), Some(Value::Object(servers))) => named(servers),
        (ServersPlace::List(_), Some(list)) => listed(list),
        (ServersPlace::Map(_), _) | (ServersPlace::List(_), None) => Vec::new(),
    };
    if app == App::ClaudeCode {
        entries.extend(of_projects(document));
    }
    FoundServers { app: Some(app), entries, inputs: declared_inputs(document) }
}

/// By the member that holds the servers; else the document is a map of servers, or one server.
fn by_shape(document: &Map<String, Value>) -> FoundServers {
    let object = |key: &str| document.get(key).and_then(Value::as_object);
    let found = |app, servers: &Map<String, Value>| FoundServers {
        app,
        entries: named(servers),
        inputs: declared_inputs(document),
    };
    if object("projects").is_some() {
        return of_app(document, App::ClaudeCode);
    }
    if let Some(Value::Array(_)) = document.get("mcpServers") {
        return of_app(document, App::Continue);
    }
    if let Some(servers) = object("mcpServers") {
        return found(None, servers);
    }
    if let Some(servers) = object("context_servers") {
        return found(Some(App::Zed), servers);
    }
    if let Some(servers) = object("mcp_servers") {
        return found(Some(App::Codex), servers);
    }
    if let Some(servers) = object("servers").filter(|servers| !is_server(servers)) {
        return found(Some(App::VsCode), servers);
    }
    if let Some(settings) = object("mcp") {
        // VS Code had its servers among its other settings.
        return match settings.get("servers").and_then(Value::as_object) {
            Some(servers) => FoundServers {
                app: Some(App::VsCode),
                entries: named(servers),
                inputs: declared_inputs(settings),
            },
            None => found(Some(App::OpenCode), settings),
        };
    }
    if is_server(document) {
        let name = document.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let entry = FoundEntry { name, project: None, raw: Value::Object(document.clone()) };
        return FoundServers { entries: vec![entry], ..FoundServers::default() };
    }
    let mut inner = document.clone();
    inner.retain(|_, entry| entry.as_object().is_some_and(is_server));
    found(None, &inner)
}

fn is_server(entry: &Map<String, Value>) -> bool {
    ["command", "url", "serverUrl", "httpUrl", "baseUrl", "builtin"]
        .iter()
        .any(|name| entry.get(*name).is_some_and(|value| !value.is_null()))
}

fn named(servers: &Map<String, Value>) -> Vec<FoundEntry> {
    let entry =
        |(name, raw): (&String, &Value)| FoundEntry { name: name.clone(), project: None, raw: raw.clone() };
    servers.iter().map(entry).collect()
}

/// The servers of a list, each with its name in it.
fn listed(list: &Value) -> Vec<FoundEntry> {
    let entry = |raw: &Value| {
        let name = raw.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        FoundEntry { name, project: None, raw: raw.clone() }
    };
    list.as_array().map(|list| list.iter().map(entry).collect()).unwrap_or_default()
}

/// The servers that Claude Code has for single projects.
fn of_projects(document: &Map<String, Value>) -> Vec<FoundEntry> {
    let mut entries = Vec::new();
    for (folder, settings) in document.get("projects").and_then(Value::as_object).into_iter().flatten() {
        let servers = settings.get("mcpServers").and_then(Value::as_object);
        for mut entry in servers.map(named).unwrap_or_default() {
            entry.project = Some(folder.clone());
            entries.push(entry);
        }
    }
    entries
}

/// The inputs of VS Code: texts, texts that aren't shown, choices, and results of its own commands, which have to be typed.
fn declared_inputs(document: &Map<String, Value>) -> Vec<ImportInput> {
    let text = |input: &Value, name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    let input = |input: &Value| {
        let id = text(input, "id")?;
        let option = |option: &Value| {
            option.as_str().or_else(|| option.get("value").and_then(Value::as_str)).map(str::to_owned)
        };
        let options = input.get("options").and_then(Value::as_array);
        Some(ImportInput {
            description: text(input, "description").map(|about| one_line(&about, LONGEST_DESCRIPTION)),
            is_secret: match input.get("password") {
                Some(Value::Bool(is_secret)) => *is_secret,
                _ => is_secret_setting(&id),
            },
            default: text(input, "default"),
            has_default: text(input, "default").is_some(),
            options: options.map(|options| options.iter().filter_map(option).collect()).unwrap_or_default(),
            id,
        })
    };
    let inputs = document.get("inputs").and_then(Value::as_array);
    inputs.map(|inputs| inputs.iter().filter_map(input).collect()).unwrap_or_default()
}
