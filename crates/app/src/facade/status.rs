//! The status report (what runs, what is pending, what is wrong), and pausing of all calls.

use std::sync::Arc;

use gatehouse_model::command::StatusReport;
use gatehouse_model::{ErrorCode, Problem, ServerStatus};

use super::{Parts, approvals, audit, settings};

pub(super) async fn report(parts: &Arc<Parts>) -> Result<StatusReport, Problem> {
    let servers = parts.servers.list();
    let policy = parts.tools.rights().view();
    let running = servers.iter().filter(|s| matches!(s.status, ServerStatus::Connected { .. })).count();
    let mut problems = Vec::new();
    if !policy.verified {
        let problem =
            Problem::new(ErrorCode::Storage, "The stored rights cannot be trusted, so everything asks.");
        problems.push(match policy.problem {
            Some(why) => problem.why(why),
            None => problem,
        });
    }
    if parts.tools.rights().has_suspended() {
        problems.push(
            Problem::new(ErrorCode::Refused, "What was allowed is suspended, so it asks.")
                .why("The operator key was made anew by somebody who did not show the one before it.")
                .todo("If that was you, look at `gatehousectl policy suspended` and confirm it with `gatehousectl policy confirm`."),
        );
    }
    problems.extend(settings::problem(parts).await);
    problems.extend(audit::problem(parts).await);
    {
        let troubles = parts.troubles.lock();
        problems.extend(troubles.clients.clone());
        problems.extend(troubles.file.iter().chain(&troubles.servers).cloned());
        if !troubles.unconfirmed.is_empty() {
            let names = troubles.unconfirmed.join(", ");
            let what = format!("Changes to servers.json made by hand are not in effect: {names}.");
            problems.push(
                Problem::new(ErrorCode::BadConfig, what)
                    .todo("Confirm them where questions are answered, or take them back."),
            );
        }
    }
    Ok(StatusReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        endpoint: parts.endpoint.clone(),
        data_dir: parts.data_dir.display().to_string(),
        pid: std::process::id(),
        answered_by: approvals::answered_by(parts.owner).to_owned(),
        secrets: parts.store.secrets().kind().word().to_owned(),
        paused: policy.paused,
        switched_on: parts.servers.is_on(),
        running: count(running),
        servers: count(servers.len()),
        tools: count(parts.tools.catalogue().tools().len()),
        clients: count(parts.clients.list().len()),
        waiting: count(parts.tools.approvals().waiting()),
        last_event: parts.bus.last(),
        problems,
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) async fn pause(parts: &Arc<Parts>) -> Result<(), Problem> {
    parts.tools.pause().await
}

pub(super) async fn resume(parts: &Arc<Parts>) -> Result<(), Problem> {
    parts.tools.resume().await
}
