//! The status report (what runs, what is pending, what is wrong), and pausing of all calls.

use std::sync::Arc;

use gatehouse_model::command::StatusReport;
use gatehouse_model::{ErrorCode, ServerStatus, UserError, message};

use super::{AppState, approvals, audit, settings};

pub(super) async fn report(state: &Arc<AppState>) -> Result<StatusReport, UserError> {
    let servers = state.servers.list();
    let policy = state.tools.permissions().view();
    let running = servers.iter().filter(|s| matches!(s.status, ServerStatus::Connected { .. })).count();
    let mut problems = Vec::new();
    if !policy.verified {
        let error = UserError::new(ErrorCode::Storage, message!("error.app.permissionsUntrusted"));
        problems.push(match policy.problem {
            Some(UserError { message: what, cause: Some(why), hint, .. }) => {
                UserError { hint, ..error.with_cause(message!("error.app.because", what = what, why = why)) }
            }
            Some(UserError { message: what, cause: None, hint, .. }) => {
                UserError { hint, ..error.with_cause(what) }
            }
            None => error,
        });
    }
    if state.tools.permissions().has_suspended() {
        problems.push(
            UserError::new(ErrorCode::Refused, message!("error.app.permissionsSuspended"))
                .with_cause(message!("error.app.permissionsSuspendedCause"))
                .with_hint(message!("error.app.permissionsSuspendedHint")),
        );
    }
    problems.extend(state.tools.profiles().problem());
    problems.extend(state.models.problem());
    problems.extend(settings::problem(state).await);
    problems.extend(audit::problem(state).await);
    let dropped = state.store.activity().dropped_count();
    if dropped > 0 {
        let what = message!("error.app.callsNotStored", calls = dropped.to_string());
        problems.push(
            UserError::new(ErrorCode::Storage, what).with_hint(message!("error.app.callsNotStoredHint")),
        );
    }
    let profiles = state.tools.profiles().stored().profiles;
    let is_project =
        |folder: &String| profiles.iter().any(|profile| profile.settings.folders.contains(folder));
    {
        let known_problems = state.known_problems.lock();
        problems.extend(known_problems.clients.clone());
        let projects = known_problems.projects.iter().filter(|(folder, _)| is_project(folder));
        problems.extend(projects.flat_map(|(_, problems)| problems.clone()));
        problems.extend(known_problems.file.iter().chain(&known_problems.servers).cloned());
        if !known_problems.unconfirmed.is_empty() {
            let names = known_problems.unconfirmed.join(", ");
            let what = message!("error.app.unconfirmedEdits", names = names);
            problems.push(
                UserError::new(ErrorCode::BadConfig, what)
                    .with_hint(message!("error.app.unconfirmedEditsHint")),
            );
        }
    }
    Ok(StatusReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        endpoint: state.endpoint.clone(),
        data_dir: state.data_dir.display().to_string(),
        pid: std::process::id(),
        answered_by: approvals::answered_by(state.owner).to_owned(),
        secrets: state.store.secrets().kind().as_str().to_owned(),
        paused: policy.paused,
        switched_on: state.servers.is_on(),
        running: count(running),
        servers: count(servers.len()),
        tools: count(state.tools.catalog().tools().len()),
        clients: count(state.clients.list().len()),
        waiting: count(state.tools.approvals().pending_count()),
        last_event: state.bus.last(),
        problems,
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) async fn pause(state: &Arc<AppState>) -> Result<(), UserError> {
    state.removals.drop_temporary_allows();
    state.tools.pause().await
}

pub(super) async fn resume(state: &Arc<AppState>) -> Result<(), UserError> {
    state.tools.resume().await
}
