//! Imports without a preview: the servers are named, and the core picks them as a person would from the preview. What would
//! be imported can be shown before that.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_model::command::{
    FieldSecret, ImportAction, ImportChoice, ImportInputValue, ImportsRun, ImportsRunByName, NameConflict,
};
use gatehouse_model::import::{ImportOutcome, ImportedApprovals};
use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};
use tokio_util::sync::CancellationToken;

use super::super::{AppState, servers};
use super::{
    KnownNames, ReadyServer, candidate, fingerprint, is_gatehouse, names, picked, prepare, read, run,
};

/// A server that would be imported.
pub(in super::super) struct PlannedImport {
    /// The name that it gets.
    pub(in super::super) name: String,
    /// The server whose settings are replaced.
    pub(in super::super) before: Option<Arc<ServerConfig>>,
    pub(in super::super) after: ServerConfig,
    pub(in super::super) secrets: Vec<FieldSecret>,
    /// What would run without asking.
    pub(in super::super) auto_approve: Option<ImportedApprovals>,
}

/// Imports servers by their names.
pub(in super::super) async fn run_by_name(
    state: &Arc<AppState>,
    wanted: ImportsRunByName,
    gone: &CancellationToken,
) -> Result<Vec<ImportOutcome>, UserError> {
    let chosen = choose(state, wanted).await?;
    run(state, chosen, gone).await
}

/// Picks the servers with these names, as the settings are now.
pub(in super::super) async fn choose(
    state: &Arc<AppState>,
    wanted: ImportsRunByName,
) -> Result<ImportsRun, UserError> {
    let ImportsRunByName { from, only, on_conflict, keep_plain, auto_approve, inputs } = wanted;
    let settings = read(from.clone()).await?;
    let configs = state.configs.lock().await.clone();
    let names = names(&settings.servers);
    let known = KnownNames { configs: &configs, names: &names };
    let all = settings.servers.iter().zip(&names).zip(0_u32..);
    let others: Vec<_> = all.filter(|((server, _), _)| !is_gatehouse(server, &state.endpoint)).collect();
    if let Some(missing) = only.iter().find(|wanted| !others.iter().any(|((_, name), _)| name == wanted)) {
        let what = message!("error.import.noServerOfName", server = missing);
        return Err(UserError::new(ErrorCode::NotFound, what));
    }
    let values: BTreeMap<&str, &ImportInputValue> =
        inputs.iter().map(|input| (input.id.as_str(), input)).collect();
    let mut servers = Vec::new();
    for ((server, name), index) in others {
        if !only.is_empty() && !only.contains(name) {
            continue;
        }
        let action = match (candidate(index, server, name, &known).conflict, on_conflict) {
            (None, _) => ImportAction::Add,
            (Some(conflict), _) if conflict.is_same => continue,
            (Some(_), NameConflict::Skip) => continue,
            (Some(_), NameConflict::Overwrite) => ImportAction::Overwrite,
            (Some(conflict), NameConflict::Rename) => ImportAction::Rename(conflict.free_name),
        };
        let given = server.inputs.iter().filter_map(|input| values.get(input.id.as_str()));
        let inputs = given.map(|value| (*value).clone()).collect();
        servers.push(ImportChoice { index, action, keep_plain, auto_approve, inputs });
    }
    Ok(ImportsRun { from, fingerprint: fingerprint(&settings), servers, run: None })
}

/// What an import would add and change. Nothing changes.
///
/// # Errors
/// If one of the servers can't be imported.
pub(in super::super) async fn plan(
    state: &Arc<AppState>,
    wanted: &ImportsRun,
) -> Result<Vec<PlannedImport>, UserError> {
    let settings = read(wanted.from.clone()).await?;
    let names = names(&settings.servers);
    let mut planned = Vec::new();
    for (choice, foreign, name) in picked(state, wanted, &settings, &names)? {
        let ReadyServer { before, draft, secrets } = prepare(state, foreign, &name, choice)?;
        let after = match &before {
            Some(before) => before.with_draft(draft),
            None => ServerConfig::from_draft(servers::new_id()?, draft),
        };
        servers::check_admin_policy(state, &after).await?;
        let auto_approve = foreign.auto_approve.clone().filter(|_| choice.auto_approve);
        planned.push(PlannedImport { name, before, after, secrets, auto_approve });
    }
    Ok(planned)
}
