//! Validates a server's settings before anything is written, and for the window while they are edited. The
//! rules are the store's; here is only what has to look at the disk. Nothing is corrected silently.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::command::{Authority, ServersValidate};
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::server_problem::{SettingChange, SettingsInput, ValidationReport};
use gatehouse_model::{ServerConfig, ServerId, Transport, UserError};
use gatehouse_store::{
    ConfigProblem, EntryText, SettingsView, changed_settings_text, diff_settings, fill_kept_values,
    validate_draft, validate_name, validate_secrets,
};

use super::AppState;
use super::lookup::find_config;
use crate::disk_work::on_disk;
use crate::redact;

/// Fails with the first thing that is wrong with a draft, except for its secrets.
pub(super) async fn check(
    draft: &ServerDraft,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Result<(), UserError> {
    let mut problems = validate_draft(draft, own, others);
    if problems.is_empty()
        && let Transport::Builtin { builtin: Builtin::Files { folder } } = &draft.transport
    {
        let folder = folder.clone();
        problems.extend(on_disk(move || folder_problem(&folder)).await?);
    }
    problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
}

/// Checks that a name is valid and not taken, ignoring case.
pub(super) fn check_name(
    name: &str,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Result<(), UserError> {
    validate_name(name, own, others).map_or(Ok(()), |problem| Err(problem.into()))
}

/// The settings of a server with some of them changed. Whether they are valid together with those of other servers is
/// not checked.
pub(super) fn changed(
    before: Option<&ServerConfig>,
    changes: &[SettingChange],
) -> Result<ServerDraft, Vec<ConfigProblem>> {
    let text = changed_settings_text(before, changes)?;
    read_text(&text, before).1
}

/// Reads a text that a server's settings were edited in.
fn read_text<'a>(
    text: &'a str,
    before: Option<&ServerConfig>,
) -> (EntryText<'a>, Result<ServerDraft, Vec<ConfigProblem>>) {
    let (text, read) = EntryText::read(text);
    let read = read.and_then(|mut draft| {
        fill_kept_values(&mut draft.transport, before)?;
        Ok(draft)
    });
    (text, read)
}

/// Answers everything that is wrong with settings, also with their secrets. Nothing changes.
pub(super) async fn validate(
    state: &Arc<AppState>,
    wanted: ServersValidate,
    by: Authority,
) -> Result<ValidationReport, UserError> {
    // Long texts take a while to read, and nothing has to wait for it.
    let mut configs = state.configs.lock().await.clone();
    if by < Authority::Operator {
        // Else a caller could guess what is hidden from it, and see from the problems and changes whether it is right.
        redact::configs(&mut configs);
    }
    on_disk(move || report(&configs, wanted, by)).await?
}

/// What is wrong with settings, given all servers. Blocks on the disk.
fn report(
    configs: &[ServerConfig],
    wanted: ServersValidate,
    by: Authority,
) -> Result<ValidationReport, UserError> {
    let before = wanted.server.as_deref().map(|server| find_config(configs, server)).transpose()?;
    let all_problems = |draft: &ServerDraft| {
        let mut found = validate_draft(draft, before.map(|before| &before.id), configs);
        if let Transport::Builtin { builtin: Builtin::Files { folder } } = &draft.transport
            && by >= Authority::Operator
        {
            found.extend(folder_problem(folder));
        }
        let kept = before.map(|before| &before.transport);
        found.extend(validate_secrets(&draft.transport, kept, &wanted.secrets));
        found
    };
    let with_problems = |read: Result<ServerDraft, Vec<ConfigProblem>>| match read {
        Ok(draft) => {
            let found = all_problems(&draft);
            (Some(draft), found)
        }
        Err(found) => (None, found),
    };
    let views = |found: &[ConfigProblem], view| found.iter().map(|problem| problem.to_view(view)).collect();
    let (draft, problems) = match wanted.settings {
        SettingsInput::Draft(draft) => {
            let (draft, found) = with_problems(Ok(*draft));
            (draft, views(&found, SettingsView::Form))
        }
        SettingsInput::Json(text) => {
            let (text, read) = read_text(&text, before);
            let (draft, found) = with_problems(read);
            (draft, text.to_views(&found))
        }
        SettingsInput::Changes(changes) => {
            let (draft, found) = with_problems(changed(before, &changes));
            (draft, views(&found, SettingsView::Json))
        }
    };
    let changes = match (before, &draft) {
        (Some(before), Some(draft)) => diff_settings(before, &before.with_draft(draft.clone())),
        _ => Vec::new(),
    };
    Ok(ValidationReport { draft, problems, changes })
}

/// That the folder of a built-in server does not exist. Blocks on the disk.
fn folder_problem(folder: &str) -> Option<ConfigProblem> {
    let folder = Path::new(folder);
    (folder.is_absolute() && !folder.is_dir()).then(ConfigProblem::no_folder)
}
