//! How each application is connected (UI-6): the entry that starts `gatehousectl bridge`, where the application's own rule
//! for Gatehouse stands, and what makes it read its settings again.
//!
//! Every application can start programs, so no entry has an address or a token: the bridge takes its token from the
//! keychain. An allow rule is only ever for Gatehouse as a whole; where an application has none of that reach, there is
//! none.

mod plan;
mod restore;
mod settings_file;

use std::path::PathBuf;

use gatehouse_model::App;
use gatehouse_model::connection::{DocumentEdit, SettingsReload};
use serde_json::{Value, json};

use crate::apps::{AppSettings, FileFormat, ServersPlace};
use crate::base_folders::{BaseFolders, System};

pub use plan::{ConnectPlan, EntryState, entry_state};
pub use restore::RestorePlan;

/// The name of Gatehouse's entry.
const ENTRY_NAME: &str = "gatehouse";

/// Variables by which the bridge finds the keychain and opens the desktop app on Linux. Codex gives the programs that it
/// starts only those that an entry names, beside a few such as `HOME`.
const LINUX_SESSION: [&str; 5] =
    ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

/// What OpenCode adds to settings that don't have it. It is in a new file from the start, so that OpenCode leaves the file
/// as it was written.
const OPEN_CODE_SCHEMA: (&[&str], RuleValue) =
    (&["$schema"], RuleValue::Text("https://opencode.ai/config.json"));

/// The program that an application starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCommand {
    pub program: String,
    pub arguments: Vec<String>,
}

/// A settings file with what is to be changed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    pub path: PathBuf,
    pub format: FileFormat,
    pub edits: Vec<DocumentEdit>,
}

/// What connecting an application changes; the file with its servers is first.
#[must_use]
pub fn planned_files(
    app: App,
    folders: &BaseFolders,
    command: &EntryCommand,
    allow_rule: Option<AllowRule>,
) -> Vec<PlannedFile> {
    let path = settings_path(app, folders);
    let mut entry = entry(app, folders.system, command);
    let mut edits = Vec::new();
    let mut more = Vec::new();
    match allow_rule {
        None => {}
        Some(AllowRule::InEntry { member, value }) => entry[member] = value.into(),
        Some(AllowRule::InSettings { path, value }) => edits.push(path_edit(path, value)),
        Some(AllowRule::InFile { path, item }) => more.push(PlannedFile {
            path: claude_code_settings(folders),
            format: FileFormat::Json,
            edits: vec![DocumentEdit::Item { path: owned(path), value: item.into() }],
        }),
    }
    let edit = match app.servers_place() {
        ServersPlace::Map(key) => DocumentEdit::Member { path: owned(&[key, ENTRY_NAME]), value: entry },
        ServersPlace::List(key) => DocumentEdit::Item { path: owned(&[key]), value: entry },
    };
    edits.insert(0, edit);
    if app == App::OpenCode && path.symlink_metadata().is_err() {
        let (path, value) = OPEN_CODE_SCHEMA;
        edits.push(path_edit(path, value));
    }
    let servers = PlannedFile { path, format: app.format(), edits };
    std::iter::once(servers).chain(more).collect()
}

/// The settings file that the application reads, or would read: that of the first edition that was ever run, which made a
/// folder for it.
#[must_use]
pub fn settings_path(app: App, folders: &BaseFolders) -> PathBuf {
    let mut files = app.settings_files(folders);
    if let Some(folder) = files.iter().filter_map(|file| file.parent()).find(|folder| folder.is_dir()) {
        let folder = folder.to_owned();
        files.retain(|file| file.parent() == Some(&folder));
    }
    let existing = files.iter().position(|path| path.symlink_metadata().is_ok());
    files.into_iter().nth(existing.unwrap_or_default()).unwrap_or_default()
}

/// Whether the file can be created by Gatehouse. Others need members that only the application knows.
fn can_create_settings(app: App) -> bool {
    app != App::Continue
}

/// A rule of an application by which it doesn't ask about Gatehouse's tools itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowRule {
    /// A member of Gatehouse's entry.
    InEntry { member: &'static str, value: RuleValue },
    /// A member elsewhere in the same file.
    InSettings { path: &'static [&'static str], value: RuleValue },
    /// An item of a list in the file with Claude Code's other settings.
    InFile { path: &'static [&'static str], item: RuleValue },
}

/// The value of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleValue {
    True,
    Text(&'static str),
}

impl From<RuleValue> for Value {
    fn from(value: RuleValue) -> Self {
        match value {
            RuleValue::True => Self::Bool(true),
            RuleValue::Text(text) => Self::from(text),
        }
    }
}

/// The application's rule for all of Gatehouse's tools, if it has one.
#[must_use]
pub fn allow_rule(app: App) -> Option<AllowRule> {
    match app {
        App::ClaudeCode => Some(AllowRule::InFile {
            path: &["permissions", "allow"],
            item: RuleValue::Text("mcp__gatehouse"),
        }),
        App::Codex => Some(AllowRule::InEntry {
            member: "default_tools_approval_mode",
            value: RuleValue::Text("approve"),
        }),
        App::Gemini => Some(AllowRule::InEntry { member: "trust", value: RuleValue::True }),
        App::OpenCode => Some(AllowRule::InSettings {
            path: &["permission", "gatehouse_*"],
            value: RuleValue::Text("allow"),
        }),
        // Cursor has a list of its own for all servers, which replaces what the user chose in its window. The others
        // have rules for single tools, or for all servers, or none.
        App::ClaudeDesktop
        | App::Cursor
        | App::VsCode
        | App::Windsurf
        | App::Zed
        | App::Cline
        | App::LmStudio
        | App::Continue => None,
    }
}

/// What makes the application read its settings again.
#[must_use]
pub fn settings_reload(app: App) -> SettingsReload {
    match app {
        App::Cursor | App::VsCode | App::Zed | App::Cline | App::LmStudio | App::Continue => {
            SettingsReload::Automatic
        }
        App::ClaudeDesktop | App::Windsurf => SettingsReload::Restart,
        App::ClaudeCode | App::Codex | App::Gemini | App::OpenCode => SettingsReload::NextSession,
    }
}

/// Whether the application is on this computer: it has a settings folder of its own, or its program is in one of the
/// folders of `PATH`.
#[must_use]
pub fn is_installed(app: App, folders: &BaseFolders, path: &[PathBuf]) -> bool {
    let files = app.settings_files(folders);
    let has_folder = files
        .iter()
        .filter_map(|file| file.parent())
        .any(|folder| folder != folders.home() && folder.is_dir());
    has_folder
        || files.iter().any(|file| file.is_file())
        || (app == App::ClaudeCode
            && claude_code_settings(folders).parent().is_some_and(|folder| folder.is_dir()))
        || programs(app).iter().any(|program| {
            let names = match folders.system {
                System::Windows => vec![format!("{program}.exe"), format!("{program}.cmd")],
                System::Linux | System::MacOs => vec![(*program).to_owned()],
            };
            path.iter().any(|folder| names.iter().any(|name| folder.join(name).is_file()))
        })
}

/// The names of the application's program.
fn programs(app: App) -> &'static [&'static str] {
    match app {
        App::ClaudeDesktop => &["claude-desktop"],
        App::ClaudeCode => &["claude"],
        App::Cursor => &["cursor"],
        App::VsCode => &["code", "code-insiders", "codium"],
        App::Windsurf => &["windsurf"],
        App::Zed => &["zed", "zeditor", "zedit"],
        App::Cline => &["cline"],
        App::Codex => &["codex"],
        App::Gemini => &["gemini"],
        App::LmStudio => &["lm-studio", "lms"],
        App::OpenCode => &["opencode"],
        App::Continue => &["cn"],
    }
}

/// Gatehouse's entry in the form of the application.
fn entry(app: App, system: System, command: &EntryCommand) -> Value {
    let EntryCommand { program, arguments } = command;
    match app {
        App::Codex if system == System::Linux => {
            json!({ "command": program, "args": arguments, "env_vars": LINUX_SESSION })
        }
        App::ClaudeDesktop
        | App::Cursor
        | App::Windsurf
        | App::Cline
        | App::Codex
        | App::Gemini
        | App::LmStudio => json!({ "command": program, "args": arguments }),
        App::ClaudeCode | App::VsCode => json!({ "type": "stdio", "command": program, "args": arguments }),
        App::Zed => json!({ "source": "custom", "command": program, "args": arguments, "env": {} }),
        App::OpenCode => {
            let words: Vec<&String> = std::iter::once(program).chain(arguments).collect();
            json!({ "type": "local", "command": words, "enabled": true })
        }
        App::Continue => json!({ "name": ENTRY_NAME, "command": program, "args": arguments }),
    }
}

/// Where Claude Code keeps its rules; its servers are in another file.
fn claude_code_settings(folders: &BaseFolders) -> PathBuf {
    let folder = folders.variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| folders.home().join(".claude"));
    folder.join("settings.json")
}

fn path_edit(path: &[&str], value: RuleValue) -> DocumentEdit {
    DocumentEdit::Member { path: owned(path), value: value.into() }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|name| (*name).to_owned()).collect()
}
