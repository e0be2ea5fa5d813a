//! Validates a server's settings before anything is written, and for the window while they are edited. The
//! rules are the store's; here is only what has to look at the disk. Nothing is corrected silently.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::command::ServersValidate;
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::server_problem::{SettingsInput, ValidationReport};
use gatehouse_model::{ServerConfig, ServerId, Transport, UserError};
use gatehouse_store::{
    ConfigProblem, EntryText, SettingsView, validate_draft, validate_name, validate_secrets,
};

use super::AppState;
use super::lookup::find_config;

/// Fails with the first thing that is wrong with a draft, except for its secrets.
pub(super) fn check(
    draft: &ServerDraft,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Result<(), UserError> {
    problems(draft, own, others).into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
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
    let configs = state.configs.lock().await;
    let before = wanted.server.as_deref().map(|server| find_config(&configs, server)).transpose()?;
    let all_problems = |draft: &ServerDraft| {
        let mut found = problems(draft, before.map(|before| &before.id), &configs);
        let kept = before.map(|before| &before.transport);
        found.extend(validate_secrets(&draft.transport, kept, &wanted.secrets));
        found
    };
    Ok(match &wanted.settings {
        SettingsInput::Draft(draft) => {
            let found = all_problems(draft);
            let problems = found.iter().map(|problem| problem.to_view(SettingsView::Form)).collect();
            ValidationReport { draft: Some(ServerDraft::clone(draft)), problems }
        }
        SettingsInput::Json(text) => {
            let (text, read) = EntryText::read(text);
            let (draft, found) = match read {
                Ok(draft) => {
                    let found = all_problems(&draft);
                    (Some(draft), found)
                }
                Err(found) => (None, found),
            };
            let problems = found.iter().map(|problem| text.to_view(problem)).collect();
            ValidationReport { draft, problems }
        }
    })
}

/// Everything that is wrong with a draft, except for its secrets.
fn problems(draft: &ServerDraft, own: Option<&ServerId>, others: &[ServerConfig]) -> Vec<ConfigProblem> {
    let mut problems = validate_draft(draft, own, others);
    if let Transport::Builtin { builtin: Builtin::Files { folder } } = &draft.transport {
        let folder = Path::new(folder);
        if folder.is_absolute() && !folder.is_dir() {
            problems.push(ConfigProblem::no_folder());
        }
    }
    problems
}
