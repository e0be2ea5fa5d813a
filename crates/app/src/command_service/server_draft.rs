//! Validates a server's settings before anything is written, and for the window while they are edited. The
//! rules are the store's; here is only what has to look at the disk. Nothing is corrected silently.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::command::ServersValidate;
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::server_problem::{SettingsInput, ValidationReport};
use gatehouse_model::{ServerConfig, ServerId, Transport, UserError};
use gatehouse_store::{
    ConfigProblem, EntryText, SettingsView, diff_settings, fill_kept_values, validate_draft, validate_name,
    validate_secrets,
};

use super::AppState;
use super::lookup::find_config;
use crate::disk_work::on_disk;

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

/// Answers everything that is wrong with settings, also with their secrets. Nothing changes.
pub(super) async fn validate(
    state: &Arc<AppState>,
    wanted: ServersValidate,
) -> Result<ValidationReport, UserError> {
    // Long texts take a while to read, and nothing has to wait for it.
    let configs = state.configs.lock().await.clone();
    on_disk(move || report(&configs, wanted)).await?
}

/// What is wrong with settings, given all servers. Blocks on the disk.
fn report(configs: &[ServerConfig], wanted: ServersValidate) -> Result<ValidationReport, UserError> {
    let before = wanted.server.as_deref().map(|server| find_config(configs, server)).transpose()?;
    let all_problems = |draft: &ServerDraft| {
        let mut found = validate_draft(draft, before.map(|before| &before.id), configs);
        if let Transport::Builtin { builtin: Builtin::Files { folder } } = &draft.transport {
            found.extend(folder_problem(folder));
        }
        let kept = before.map(|before| &before.transport);
        found.extend(validate_secrets(&draft.transport, kept, &wanted.secrets));
        found
    };
    let (draft, problems) = match wanted.settings {
        SettingsInput::Draft(draft) => {
            let found = all_problems(&draft);
            (Some(*draft), found.iter().map(|problem| problem.to_view(SettingsView::Form)).collect())
        }
        SettingsInput::Json(text) => {
            let (text, read) = EntryText::read(&text);
            let read = read.and_then(|mut draft| {
                fill_kept_values(&mut draft.transport, before)?;
                Ok(draft)
            });
            let (draft, found) = match read {
                Ok(draft) => {
                    let found = all_problems(&draft);
                    (Some(draft), found)
                }
                Err(found) => (None, found),
            };
            (draft, text.to_views(&found))
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
