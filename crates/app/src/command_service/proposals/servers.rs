//! Proposed commands about servers. The settings that a server would get are shown whole.

use std::sync::Arc;

use gatehouse_model::command::{
    Command, ImportOrigin, ImportsRun, ImportsRunByName, ServersAdd, ServersDuplicate, ServersEdit,
    ServersReconnect, ServersRemove, ServersReset, ServersSet, ServersSignOut, ServersStart,
    ServersTrustLabels,
};
use gatehouse_model::import::ImportedApprovals;
use gatehouse_model::server::ServerOrigin;
use gatehouse_model::{ErrorCode, Message, ServerConfig, UserError, message};
use gatehouse_store::check_hidden_values;
use serde::Serialize;
use serde_json::Value;

use super::{ProposedCommand, ShownCommand, fields};
use crate::command_service::imports::{self, PlannedImport};
use crate::command_service::{AppState, lookup, server_draft, servers};
use crate::redact;
use crate::server_configs::first_start;
use crate::server_configs::secrets::{self, SecretChanges};

pub(super) async fn add(state: &Arc<AppState>, wanted: ServersAdd) -> Result<ProposedCommand, UserError> {
    let configs = state.configs.lock().await.clone();
    server_draft::check(&wanted.draft, None, &configs).await?;
    let config = ServerConfig::from_draft(servers::new_id()?, wanted.draft.clone());
    servers::check_admin_policy(state, &config).await?;
    SecretChanges::new(None, &config, &wanted.secrets)?;
    let mut changes = fields::settings(None, &config);
    changes.extend(fields::secrets(&wanted.secrets));
    let what = message!("proposal.servers.add", server = &config.name);
    let mut shown = ShownCommand::new(what).with_changes(changes);
    if wanted.trust_labels {
        shown = shown.with_note(message!("proposal.servers.addTrusts"));
    }
    Ok(ProposedCommand::new(Command::ServersAdd(wanted), shown))
}

pub(super) async fn edit(state: &Arc<AppState>, wanted: ServersEdit) -> Result<ProposedCommand, UserError> {
    let configs = state.configs.lock().await.clone();
    let before = lookup::find_config(&configs, &wanted.server)?;
    let after = servers::plan_edit(state, &configs, &wanted).await?.after;
    let mut changes = fields::settings(Some(before), &after);
    changes.extend(fields::secrets(&wanted.secrets));
    let what = message!("proposal.servers.edit", server = &before.name);
    let mut shown = ShownCommand::new(what).with_changes(changes);
    if after.generation != before.generation {
        shown = shown.with_note(message!("proposal.servers.editEndsPermissions"));
    }
    let given = given_bytes(&wanted);
    let resolved = ServersEdit { server: before.id.to_string(), ..wanted };
    Ok(ProposedCommand { command: Command::ServersEdit(resolved), shown, given: Some(given) })
}

/// Becomes an edit of all settings: if others of them change meanwhile, it is refused instead of being mixed with that.
pub(super) async fn set(state: &Arc<AppState>, wanted: ServersSet) -> Result<ProposedCommand, UserError> {
    let configs = state.configs.lock().await.clone();
    let given = given_bytes(&wanted);
    let edited = edit(state, servers::to_edit(&configs, wanted)?).await?;
    Ok(ProposedCommand { given: Some(given), ..edited })
}

/// Checks an edit by what its program can see of the server, before anybody is asked. Secrets have to stay for that too: else
/// the program could guess what is hidden from it, since only with the right address or arguments they would stay, and the
/// edit come before the user. And what is hidden goes to no other program or address, since the user would not see it.
pub(super) async fn check_visible(state: &AppState, command: &Command) -> Result<(), UserError> {
    let mut visible = state.configs.lock().await.clone();
    redact::configs(&mut visible);
    let edit = match command {
        Command::ServersEdit(wanted) => wanted.clone(),
        Command::ServersSet(wanted) => servers::to_edit(&visible, wanted.clone())?,
        _ => return Ok(()),
    };
    let before = lookup::find_config(&visible, &edit.server)?;
    let after = before.with_draft(edit.draft);
    SecretChanges::new(Some(before), &after, &edit.secrets)?;
    check_hidden_values(&before.transport, &after.transport)?;
    Ok(())
}

pub(super) async fn duplicate(
    state: &Arc<AppState>,
    wanted: ServersDuplicate,
) -> Result<ProposedCommand, UserError> {
    let configs = state.configs.lock().await.clone();
    let original = lookup::find_config(&configs, &wanted.server)?;
    server_draft::check_name(&wanted.name, None, &configs)?;
    let enabled = original.enabled && !secrets::needs_any(&original.transport);
    let copy =
        ServerConfig { name: wanted.name.clone(), enabled, origin: ServerOrigin::User, ..original.clone() };
    let what = message!("proposal.servers.duplicate", server = &original.name, name = &wanted.name);
    let shown = ShownCommand::new(what).with_changes(fields::settings(None, &copy));
    let resolved = ServersDuplicate { server: original.id.to_string(), ..wanted };
    Ok(ProposedCommand::new(Command::ServersDuplicate(resolved), shown))
}

pub(super) fn remove(state: &AppState, wanted: ServersRemove) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let what = if wanted.undoable {
        message!("proposal.servers.removeUndoable", server = &server.name)
    } else {
        message!("proposal.servers.remove", server = &server.name)
    };
    let resolved = ServersRemove { server: server.id.to_string(), ..wanted };
    Ok(ProposedCommand::new(Command::ServersRemove(resolved), ShownCommand::new(what)))
}

pub(super) fn start(state: &AppState, wanted: ServersStart) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let what = if server.enabled {
        message!("proposal.servers.start", server = &server.name)
    } else {
        message!("proposal.servers.enable", server = &server.name)
    };
    let resolved = ServersStart { server: server.id.to_string() };
    Ok(ProposedCommand::new(Command::ServersStart(resolved), ShownCommand::new(what)))
}

pub(super) fn reconnect(state: &AppState, wanted: ServersReconnect) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let what = message!("proposal.servers.reconnect", server = &server.name);
    let resolved = ServersReconnect { server: server.id.to_string() };
    Ok(ProposedCommand::new(Command::ServersReconnect(resolved), ShownCommand::new(what)))
}

pub(super) fn sign_out(state: &AppState, wanted: ServersSignOut) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let what = message!("proposal.servers.signOut", server = &server.name);
    let resolved = ServersSignOut { server: server.id.to_string(), ..wanted };
    Ok(ProposedCommand::new(Command::ServersSignOut(resolved), ShownCommand::new(what)))
}

pub(super) fn trust_labels(
    state: &AppState,
    wanted: ServersTrustLabels,
) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let what = if wanted.trusted {
        message!("proposal.servers.trustLabels", server = &server.name)
    } else {
        message!("proposal.servers.distrustLabels", server = &server.name)
    };
    // Whose labels they are must not change while this waits.
    let generation = wanted.generation.or(Some(server.generation));
    let resolved = ServersTrustLabels { server: server.id.to_string(), generation, ..wanted };
    Ok(ProposedCommand::new(Command::ServersTrustLabels(resolved), ShownCommand::new(what)))
}

pub(super) async fn reset(state: &Arc<AppState>, wanted: ServersReset) -> Result<ProposedCommand, UserError> {
    let kept = first_start::servers()?;
    let configs = state.configs.lock().await.clone();
    let stays = |config: &&ServerConfig| {
        kept.iter().any(|kept| kept.name == config.name && kept.transport == config.transport)
    };
    let gone = configs.iter().filter(|config| !stays(config));
    let removed = |config: &ServerConfig| {
        fields::changed(fields::of_server(&config.name), Some(Value::from(config.transport.kind())), None)
    };
    let shown =
        ShownCommand::new(message!("proposal.servers.reset")).with_changes(gone.map(removed).collect());
    Ok(ProposedCommand::new(Command::ServersReset(wanted), shown))
}

pub(super) async fn import_by_name(
    state: &Arc<AppState>,
    wanted: ImportsRunByName,
) -> Result<ProposedCommand, UserError> {
    let chosen = imports::choose(state, wanted).await?;
    import(state, chosen).await
}

/// What is imported is read again when it runs, and refused if it is no longer the same text.
pub(super) async fn import(state: &Arc<AppState>, wanted: ImportsRun) -> Result<ProposedCommand, UserError> {
    if wanted.servers.is_empty() {
        return Err(UserError::new(ErrorCode::NotFound, message!("error.import.nothingChosen")));
    }
    let what = match &wanted.from {
        ImportOrigin::App(app) => message!("proposal.imports.from", file = app.display_name()),
        ImportOrigin::File(file) => message!("proposal.imports.from", file = file),
        ImportOrigin::Text(_) => message!("proposal.imports.fromText"),
    };
    let mut shown = ShownCommand::new(what);
    let mut given = given_bytes(&wanted);
    for PlannedImport { name, before, after, secrets, auto_approve } in imports::plan(state, &wanted).await? {
        let mut changes = fields::settings(before.as_deref(), &after);
        given = given.saturating_add(given_bytes(&fields::settings(None, &after)));
        changes.extend(fields::secrets(&secrets));
        if let Some(approvals) = auto_approve {
            let tools: Value = match approvals {
                ImportedApprovals::All => Value::from("all"),
                ImportedApprovals::Tools(tools) => Value::from(tools),
            };
            changes.push(fields::set("/autoApprove", tools));
        }
        if before.is_some() {
            shown = shown.with_note(overwrites(&name));
        }
        shown.changes.extend(fields::under(&name, changes));
    }
    Ok(ProposedCommand { command: Command::ImportsRun(wanted), shown, given: Some(given) })
}

/// The size of what a program gave.
fn given_bytes(given: &impl Serialize) -> usize {
    serde_json::to_vec(given).map_or(usize::MAX, |text| text.len())
}

fn overwrites(server: &str) -> Message {
    message!("proposal.imports.overwrites", server = server)
}
