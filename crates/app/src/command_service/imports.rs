//! Servers of other applications (UI-2): which settings files there are, what is in one, and adding the servers that the
//! user picked.
//!
//! The other application's file is only read. Each server is added by itself, in the same way as any other: the checks and
//! the handling of secrets are those of `servers.add` and `servers.edit`. Nothing that ran without asking there does here
//! unless the user chose so.

mod planned;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use futures::future::join_all;
use gatehouse_common::invisible_chars::{Layout, one_line, reveal};
use gatehouse_integrations::import::{
    FilledServer, ForeignServer, ForeignSettings, existing_files, has_plain_secret, read_file, read_text,
};
use gatehouse_integrations::{App, BaseFolders};
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::{
    FieldSecret, ImportAction, ImportChoice, ImportOrigin, ImportsRun, RequestSecret, ServersAdd, ServersEdit,
};
use gatehouse_model::import::{
    ImportCandidate, ImportConflict, ImportInput, ImportOutcome, ImportPreview, ImportSource,
    ImportedApprovals, ImportedSetting,
};
use gatehouse_model::server::{ProtocolVersionSetting, ServerAppearance, ServerDraft, ServerLimits};
use gatehouse_model::{ErrorCode, GrantChoice, Message, Secret, ServerConfig, ServerId, UserError, message};
use gatehouse_store::{ConfigProblem, EntryText, to_server_name};
use gatehouse_tools::RuleSpec;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::free_name::{free_name, numbered};
use super::named_runs::NamedRun;
use super::{AppState, lookup, server_draft, servers};
use crate::app_folders;
use crate::disk_work::on_disk;

pub(super) use self::planned::{PlannedImport, choose, plan, run_by_name};

/// Longest name of a tool in a message, in characters.
const LONGEST_NAME: usize = 64;
/// Longest command line, address or value, in characters.
const LONGEST_TEXT: usize = 4000;
/// Most settings of one server.
const MOST_SETTINGS: usize = 256;
/// Most tools of one server that are allowed in one go.
const MOST_TOOLS: usize = 256;

/// The settings files that exist, each with the number of servers in it. They are read for one caller at a time: anyone may
/// ask, and other programs decide how large they are.
pub(super) async fn sources(state: &Arc<AppState>) -> Result<Vec<ImportSource>, UserError> {
    let folders = app_folders::base_folders()?;
    let endpoint = state.endpoint.clone();
    let configs = state.configs.lock().await.clone();
    // Until everything is read, also if the caller is gone before.
    let reading = Arc::clone(&state.reading_sources).lock_owned().await;
    let read = move || -> Vec<ImportSource> {
        let _reading = reading;
        let files = |app: &App| {
            existing_files(*app, &folders).into_iter().map(|file| (*app, file)).collect::<Vec<_>>()
        };
        let source = |(app, file): (App, PathBuf)| source(app, &file, &folders, &configs, &endpoint);
        App::ALL.iter().flat_map(files).map(source).collect()
    };
    on_disk(read).await
}

fn source(
    app: App,
    file: &Path,
    folders: &BaseFolders,
    configs: &[ServerConfig],
    endpoint: &str,
) -> ImportSource {
    let (servers, new_servers, problem) = match read_file(file, folders) {
        Ok(settings) => {
            let names = names(&settings.servers);
            let known = KnownNames { configs, names: &names };
            let others = settings.servers.iter().zip(&names);
            let others: Vec<_> = others.filter(|(server, _)| !is_gatehouse(server, endpoint)).collect();
            let new = others.iter().filter(|(_, name)| known.owner(name).is_none()).count();
            (to_u32(others.len()), to_u32(new), None)
        }
        Err(problem) => (0, 0, Some(problem)),
    };
    let (name, file) = (app.display_name().to_owned(), file.display().to_string());
    ImportSource { app, name, file, servers, new_servers, problem }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What would be imported. Nothing changes.
pub(super) async fn preview(state: &Arc<AppState>, from: ImportOrigin) -> Result<ImportPreview, UserError> {
    let settings = read(from).await?;
    let configs = state.configs.lock().await.clone();
    let names = names(&settings.servers);
    let all = settings.servers.iter().zip(&names).zip(0_u32..);
    let candidates = all.filter(|((server, _), _)| !is_gatehouse(server, &state.endpoint)).map(
        |((server, name), index)| {
            let known = KnownNames { configs: &configs, names: &names };
            candidate(index, server, name, &known)
        },
    );
    Ok(ImportPreview {
        fingerprint: fingerprint(&settings),
        app: settings.app,
        candidates: candidates.collect(),
        file: settings.file.map(|file| file.display().to_string()),
    })
}

/// Imports the chosen servers.
pub(super) async fn run(
    state: &Arc<AppState>,
    wanted: ImportsRun,
    gone: &CancellationToken,
) -> Result<Vec<ImportOutcome>, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let settings = read(wanted.from.clone()).await?;
    let names = names(&settings.servers);
    let picked = picked(state, &wanted, &settings, &names)?;
    let mut outcomes = Vec::with_capacity(picked.len());
    // One after the other, so that two servers never get the same name.
    for (choice, server, name) in &picked {
        let imported = match named.ensure_not_cancelled() {
            Ok(()) => import(state, server, name, choice).await,
            Err(error) => Err(error),
        };
        let (server, problem) = match imported {
            Ok(id) => (Some(id), None),
            Err(problem) => (None, Some(problem)),
        };
        outcomes.push(ImportOutcome { index: choice.index, name: name.clone(), server, problem });
    }
    let approvals = picked.iter().zip(&outcomes).map(|((choice, foreign, _), outcome)| {
        let approvals = foreign.auto_approve.as_ref().filter(|_| choice.auto_approve);
        approve(state, &named, outcome.server.as_ref().zip(approvals))
    });
    let approved = join_all(approvals).await;
    for (outcome, approved) in outcomes.iter_mut().zip(approved) {
        outcome.problem = outcome.problem.take().or(approved.err());
    }
    Ok(outcomes)
}

/// The chosen servers, each with the name that it gets.
fn picked<'a>(
    state: &AppState,
    wanted: &'a ImportsRun,
    settings: &'a ForeignSettings,
    names: &[String],
) -> Result<Vec<(&'a ImportChoice, &'a ForeignServer, String)>, UserError> {
    if fingerprint(settings) != wanted.fingerprint {
        return Err(UserError::new(ErrorCode::StaleAnswer, message!("error.import.changed"))
            .with_hint(message!("error.import.changedHint")));
    }
    let mut chosen = HashSet::new();
    let mut picked = Vec::new();
    for choice in &wanted.servers {
        let server = settings.servers.get(choice.index as usize).zip(names.get(choice.index as usize));
        let server = server.filter(|(server, _)| !is_gatehouse(server, &state.endpoint));
        let Some((server, name)) = server.filter(|_| chosen.insert(choice.index)) else {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.import.noSuchServer")));
        };
        let name = match &choice.action {
            ImportAction::Rename(name) => name,
            ImportAction::Add | ImportAction::Overwrite => name,
        };
        picked.push((choice, server, name.clone()));
    }
    Ok(picked)
}

/// Reads what is imported from.
async fn read(from: ImportOrigin) -> Result<ForeignSettings, UserError> {
    let folders = app_folders::base_folders()?;
    let read = move || -> Result<ForeignSettings, UserError> {
        match from {
            ImportOrigin::App(app) => {
                let files = existing_files(app, &folders);
                let file = files.first().ok_or_else(|| {
                    let what = message!("error.import.noSettings", app = app.display_name());
                    UserError::new(ErrorCode::NotFound, what)
                })?;
                read_file(file, &folders)
            }
            ImportOrigin::File(path) => {
                let path = PathBuf::from(path);
                if !path.is_absolute() {
                    return Err(UserError::new(ErrorCode::BadRequest, message!("error.import.relativePath")));
                }
                read_file(&path, &folders)
            }
            ImportOrigin::Text(text) => read_text(text.reveal(), &folders),
        }
    };
    on_disk(read).await?
}

fn fingerprint(settings: &ForeignSettings) -> String {
    hex::encode(Sha256::digest(settings.text.as_bytes()))
}

/// Whether an entry leads to Gatehouse itself: importing it would be a circle.
fn is_gatehouse(server: &ForeignServer, endpoint: &str) -> bool {
    let text = |name: &str| server.entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let args = server.entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let args: Vec<&str> = args.filter_map(Value::as_str).collect();
    let program = text("command").rsplit(['/', '\\']).next().unwrap_or_default();
    let is_bridge = program.to_ascii_lowercase().starts_with("gatehouse") && args.contains(&"bridge");
    let address = endpoint.trim_end_matches("mcp");
    let by_name = address.replacen("127.0.0.1", "localhost", 1);
    let is_own_address = |text: &str| text.starts_with(address) || text.starts_with(&by_name);
    is_bridge || is_own_address(text("url")) || args.iter().any(|arg| is_own_address(arg))
}

/// The names that servers of one content get: valid, and each only once.
fn names(servers: &[ForeignServer]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut name = |server: &ForeignServer| {
        let project = server.project.as_deref().and_then(|folder| Path::new(folder).file_name());
        let project = project.map(|folder| folder.to_string_lossy().into_owned());
        let name = valid_name(&server.name, server);
        let with_project = project.map(|project| valid_name(&format!("{name} ({project})"), server));
        let numbered = (2..).map(|number: usize| numbered(&name, number));
        let mut names = [Some(name.clone()), with_project].into_iter().flatten().chain(numbered);
        let free = names.find(|name| !taken.contains(&name.to_lowercase())).unwrap_or(name.clone());
        taken.insert(free.to_lowercase());
        free
    };
    servers.iter().map(&mut name).collect()
}

/// A name as Gatehouse takes it. A server without one is called after its address or its program.
fn valid_name(name: &str, server: &ForeignServer) -> String {
    let text = |name: &str| server.entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let host = text("url").split("://").nth(1).and_then(|rest| rest.split(['/', ':', '?']).next());
    let program = text("command").rsplit(['/', '\\']).next();
    let mut names = [Some(name), host, program].into_iter().flatten();
    names.find_map(to_server_name).unwrap_or_else(|| "server".to_owned())
}

/// The names that a candidate's name is compared with.
struct KnownNames<'a> {
    configs: &'a [ServerConfig],
    /// Of all candidates.
    names: &'a [String],
}

impl KnownNames<'_> {
    /// The server that has a name, or one that people would take for it.
    fn owner(&self, name: &str) -> Option<&ServerConfig> {
        self.configs
            .iter()
            .find(|config| server_draft::check_name(name, None, slice::from_ref(config)).is_err())
    }

    /// A name that neither a server nor a candidate has.
    fn free(&self, name: &str) -> String {
        let is_free = |free: &str| {
            server_draft::check_name(free, None, self.configs).is_ok()
                && !self.names.iter().any(|name| name.to_lowercase() == free.to_lowercase())
        };
        free_name(name, is_free)
    }
}

fn candidate(index: u32, server: &ForeignServer, name: &str, known: &KnownNames<'_>) -> ImportCandidate {
    let mut problems: Vec<Message> = server.problem.iter().cloned().collect();
    let filled = server.fill_known().unwrap_or_else(|problem| {
        problems.push(problem);
        FilledServer { entry: server.entry.clone(), secrets: Vec::new() }
    });
    problems.extend(too_long(&filled));
    let summary = shown(&filled.summary());
    let shown_setting = |setting: ImportedSetting| ImportedSetting {
        name: shown(&setting.name),
        value: shown(&setting.value),
    };
    let settings = filled.settings().into_iter().take(MOST_SETTINGS).map(shown_setting).collect();
    let has_plain_secret = has_plain_secret(&filled.entry);
    let enabled = filled.entry.get("enabled") != Some(&Value::Bool(false));
    let owner = known.owner(name);
    let is_same = match (draft(name, filled.entry), server.needs_input()) {
        (Ok(draft), _) => owner.is_some_and(|owner| owner.transport == draft.transport),
        // What is wrong may be only that the value is not there yet.
        (Err(_), true) => false,
        (Err(found), false) => {
            if problems.is_empty() {
                problems = found;
            }
            false
        }
    };
    let conflict =
        owner.map(|owner| ImportConflict { server: owner.id.clone(), is_same, free_name: known.free(name) });
    ImportCandidate {
        index,
        name: name.to_owned(),
        project: server.project.as_deref().map(shown),
        summary,
        settings,
        enabled,
        secrets: filled.secrets.into_iter().map(|secret| secret.field).collect(),
        has_plain_secret,
        inputs: server.inputs.iter().map(ImportInput::shown).collect(),
        auto_approve: server.auto_approve.as_ref().map(shown_approvals),
        left_out: server.left_out.clone(),
        conflict,
        problems,
    }
}

/// A text of another application as people see it: cut, and with invisible characters marked.
pub(super) fn shown(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_TEXT).map_or(text.len(), |(end, _)| end);
    reveal(&text[..end], Layout::OneLine).into_owned()
}

/// What runs without asking, as people see it.
fn shown_approvals(approvals: &ImportedApprovals) -> ImportedApprovals {
    match approvals {
        ImportedApprovals::All => ImportedApprovals::All,
        ImportedApprovals::Tools(tools) => {
            ImportedApprovals::Tools(tools.iter().map(|tool| shown(tool)).collect())
        }
    }
}

/// Why a server can't be shown whole, so that the user would import what they have not seen.
pub(super) fn too_long(server: &FilledServer) -> Option<Message> {
    let settings = server.settings();
    let is_long = |text: &str| text.chars().nth(LONGEST_TEXT).is_some();
    let is_too_long = is_long(&server.summary())
        || settings.len() > MOST_SETTINGS
        || settings.iter().any(|setting| is_long(&setting.name) || is_long(&setting.value));
    is_too_long.then(|| message!("import.problem.tooLong"))
}

/// The settings of an entry, as the one parser of entries reads them.
pub(super) fn draft(name: &str, entry: Map<String, Value>) -> Result<ServerDraft, Vec<Message>> {
    let text = Value::Object(Map::from_iter([(name.to_owned(), Value::Object(entry))])).to_string();
    let (_, draft) = EntryText::read(&text);
    draft.map_err(|problems| problems.iter().map(ConfigProblem::sentence).collect())
}

/// A server with what is needed to import it.
struct ReadyServer {
    /// The server whose settings are replaced.
    before: Option<Arc<ServerConfig>>,
    draft: ServerDraft,
    secrets: Vec<FieldSecret>,
}

/// Adds one server, or replaces the settings of the one that has its name.
async fn import(
    state: &Arc<AppState>,
    server: &ForeignServer,
    name: &str,
    choice: &ImportChoice,
) -> Result<ServerId, UserError> {
    let ReadyServer { before, draft, secrets } = prepare(state, server, name, choice)?;
    let Some(before) = before else {
        let added = ServersAdd { draft, trust_labels: false, secrets, run: None };
        // The import is cancelled between two servers.
        return Ok(servers::add(state, added, &CancellationToken::new()).await?.config.id);
    };
    let edited = ServersEdit { server: before.id.as_str().to_owned(), draft, secrets };
    Ok(servers::edit(state, edited).await?.config.id)
}

/// The settings that a server gets, and its secrets.
fn prepare(
    state: &AppState,
    server: &ForeignServer,
    name: &str,
    choice: &ImportChoice,
) -> Result<ReadyServer, UserError> {
    let refused = |what: Message| UserError::new(ErrorCode::BadRequest, what);
    let known = server.fill_known().map_err(refused)?;
    if let Some(problem) = server.problem.clone().or_else(|| too_long(&known)) {
        return Err(refused(problem));
    }
    let values: BTreeMap<String, Secret> =
        choice.inputs.iter().map(|input| (input.id.clone(), Secret::new(input.value.reveal()))).collect();
    let filled = server.fill(&values, choice.keep_plain).map_err(refused)?;
    let secrets = filled
        .secrets
        .iter()
        .map(|secret| FieldSecret { field: secret.field.clone(), value: RequestSecret::new(&secret.value) })
        .collect();
    let says_whether_enabled = filled.entry.contains_key("enabled");
    let draft = draft(name, filled.entry).map_err(|problems| {
        let first = problems.into_iter().next().unwrap_or_else(|| message!("import.problem.noObject"));
        refused(first)
    })?;
    if choice.action != ImportAction::Overwrite {
        return Ok(ReadyServer { before: None, draft, secrets });
    }
    let before = lookup::find(state, name)?;
    let enabled = if says_whether_enabled { draft.enabled } else { before.enabled };
    let draft = ServerDraft { enabled, ..over(&before, draft) };
    Ok(ReadyServer { before: Some(before), draft, secrets })
}

/// The imported settings in place of a server's own. What other applications don't know stays as it is.
fn over(before: &ServerConfig, draft: ServerDraft) -> ServerDraft {
    let ServerAppearance { description, icon, group } = draft.look;
    let look = ServerAppearance {
        description: description.or_else(|| before.look.description.clone()),
        icon: icon.or_else(|| before.look.icon.clone()),
        group: group.or_else(|| before.look.group.clone()),
    };
    let has_limits = draft.limits != ServerLimits::default();
    let limits = if has_limits { draft.limits } else { before.limits.clone() };
    let has_version = draft.protocol_version != ProtocolVersionSetting::default();
    ServerDraft {
        name: before.name.clone(),
        look,
        limits,
        protocol_version: if has_version { draft.protocol_version } else { before.protocol_version },
        autostart: before.autostart,
        record_bodies: before.record_bodies,
        ..draft
    }
}

/// Lets run without asking what did so in the other application. A rule covers what a tool is now, so this waits for the
/// server to connect, until the run is cancelled.
async fn approve(
    state: &Arc<AppState>,
    named: &NamedRun<'_>,
    wanted: Option<(&ServerId, &ImportedApprovals)>,
) -> Result<(), UserError> {
    let Some((server, approvals)) = wanted else { return Ok(()) };
    let config = lookup::find(state, server.as_str())?;
    let connected = named.cancel.run_until_cancelled(servers::is_connected_in_time(state, &config)).await;
    if connected != Some(true) {
        return Err(UserError::new(
            ErrorCode::ServerUnavailable,
            message!("error.import.approvalsUnset", server = &config.name),
        )
        .with_cause(message!("error.import.approvalsUnsetCause"))
        .with_hint(message!("error.import.approvalsUnsetHint")));
    }
    state.tools.refresh().await;
    let permissions = state.tools.permissions();
    let tools = match approvals {
        ImportedApprovals::All => return permissions.set_auto_approve(server, AutoApprove::All).await,
        ImportedApprovals::Tools(tools) => tools,
    };
    let mut failed = Vec::new();
    for tool in tools.iter().take(MOST_TOOLS) {
        let choice = GrantChoice {
            lifetime: ChoiceLifetime::Always,
            width: ChoiceScope::Tool,
            every_client: true,
            conditions: Vec::new(),
        };
        let order = RuleSpec { server: Some(server.clone()), tool: Some(tool.clone()), client: None, choice };
        if permissions.grant(order).await.is_err() {
            failed.push(one_line(tool, LONGEST_NAME));
        }
    }
    failed.extend(tools.iter().skip(MOST_TOOLS).map(|tool| one_line(tool, LONGEST_NAME)));
    if failed.is_empty() {
        return Ok(());
    }
    let what = message!("error.import.toolsNotApproved", tools = failed.join(", "));
    Err(UserError::new(ErrorCode::NotFound, what).with_hint(message!("error.import.approvalsUnsetHint")))
}
