//! Which commands are proposed, each resolved and described for the user.

use std::sync::Arc;

use gatehouse_model::command::{
    ClientsConnect, ClientsConnectPreview, ClientsRevoke, ClientsRotate, ClientsSet, Command,
    ModelsAddProvider, ProfilesAdd, ProfilesAddServers, ProfilesRemove, ProfilesSet, RemovalsUndo,
    SettingsSet,
};
use gatehouse_model::secret::REDACTED;
use gatehouse_model::{App, ErrorCode, Message, Profile, ProfileSettings, UserError, message};
use serde_json::Value;

use super::{ProposedCommand, ShownCommand, fields, permissions, servers};
use crate::authority::not_permitted;
use crate::command_service::{AppState, clients, connections, profiles, settings};
use crate::removals::RemovedItem;

/// Resolves a command and describes it. Describing what was resolved gives the same again unless something changed.
///
/// # Errors
/// What is wrong with the command, and that it can't be proposed.
pub(super) async fn describe(state: &Arc<AppState>, command: Command) -> Result<ProposedCommand, UserError> {
    let simple = |command: Command, what: Message| ProposedCommand::new(command, ShownCommand::new(what));
    match command {
        Command::ServersAdd(c) => servers::add(state, c).await,
        Command::ServersEdit(c) => servers::edit(state, c).await,
        Command::ServersSet(c) => servers::set(state, c).await,
        Command::ServersDuplicate(c) => servers::duplicate(state, c).await,
        Command::ServersRemove(c) => servers::remove(state, c),
        Command::ServersStart(c) => servers::start(state, c),
        Command::ServersReconnect(c) => servers::reconnect(state, c),
        Command::ServersSignOut(c) => servers::sign_out(state, c),
        Command::ServersTrustLabels(c) => servers::trust_labels(state, c),
        Command::ServersReset(c) => servers::reset(state, c).await,
        Command::ImportsRun(c) => servers::import(state, c).await,
        Command::ImportsRunByName(c) => servers::import_by_name(state, c).await,
        Command::ServersSwitchOn(_) => Ok(simple(command, message!("proposal.servers.switchOn"))),
        Command::ToolsClassify(c) => permissions::classify(state, c),
        Command::ClientsAdd(c) => {
            state.clients.check_names(&[&c.name])?;
            let what = message!("proposal.clients.add", client = &c.name);
            let shown = ShownCommand::new(what).with_note(message!("proposal.clients.getsToken"));
            Ok(ProposedCommand::new(Command::ClientsAdd(c), shown))
        }
        Command::ClientsRotate(c) => {
            let client = clients::find_entry(state, &c.client)?;
            let what = message!("proposal.clients.rotate", client = &client.name);
            let shown = ShownCommand::new(what).with_note(message!("proposal.clients.getsToken"));
            let resolved = ClientsRotate { client: client.id.to_string() };
            Ok(ProposedCommand::new(Command::ClientsRotate(resolved), shown))
        }
        Command::ClientsRevoke(c) => {
            let client = clients::find_entry(state, &c.client)?;
            let what = message!("proposal.clients.revoke", client = &client.name);
            Ok(simple(Command::ClientsRevoke(ClientsRevoke { client: client.id.to_string() }), what))
        }
        Command::ClientsSet(c) => set_client(state, &c),
        Command::ClientsConnect(c) => connect(state, c).await,
        Command::ClientsDisconnect(c) => {
            connections::ensure_connected(state, c.app).await?;
            let what = message!("proposal.clients.disconnect", app = c.app.display_name());
            Ok(simple(Command::ClientsDisconnect(c), what))
        }
        Command::ProfilesAdd(c) => add_profile(state, c).await,
        Command::ProfilesSet(c) => set_profile(state, c).await,
        Command::ProfilesAddServers(c) => {
            let profile = state.tools.profiles().get(&c.profile)?;
            let what = message!("proposal.profiles.addServers", profile = &profile.settings.name);
            let resolved = ProfilesAddServers { profile: profile.id.to_string() };
            Ok(simple(Command::ProfilesAddServers(resolved), what))
        }
        Command::ProfilesRemove(c) => {
            let profile = state.tools.profiles().get(&c.profile)?;
            let what = message!("proposal.profiles.remove", profile = &profile.settings.name);
            let resolved = ProfilesRemove { profile: profile.id.to_string() };
            Ok(simple(Command::ProfilesRemove(resolved), what))
        }
        Command::PolicyAutoApprove(c) => permissions::auto_approve(state, c),
        Command::PolicyGrant(c) => permissions::grant(state, c).await,
        Command::PolicyRevoke(c) => permissions::revoke(state, c),
        Command::PolicyNarrow(c) => permissions::narrow(state, c),
        Command::PolicyUnblock(c) => permissions::unblock(state, c),
        Command::RemovalsUndo(c) => undo(state, &c),
        Command::AuditAcknowledge(_) => Ok(simple(command, message!("proposal.audit.acknowledge"))),
        Command::ModelsAddProvider(c) => Ok(add_provider(c)),
        Command::SettingsSet(c) => set_settings(state, c).await,
        Command::Resume(_) => Ok(simple(command, message!("proposal.resume"))),
        other => Err(not_permitted(other.rule())),
    }
}

fn set_client(state: &AppState, wanted: &ClientsSet) -> Result<ProposedCommand, UserError> {
    let client = clients::find_entry(state, &wanted.client)?;
    let profile = wanted.profile.as_deref().map(|wanted| state.tools.profiles().get(wanted)).transpose()?;
    let what = match &profile {
        Some(profile) => {
            message!("proposal.clients.set", client = &client.name, profile = &profile.settings.name)
        }
        None => message!("proposal.clients.unset", client = &client.name),
    };
    let resolved =
        ClientsSet { client: client.id.to_string(), profile: profile.map(|profile| profile.id.to_string()) };
    Ok(ProposedCommand::new(Command::ClientsSet(resolved), ShownCommand::new(what)))
}

/// The preview that the command would have been made from; its change is the only one that is made.
async fn connect(state: &Arc<AppState>, wanted: ClientsConnect) -> Result<ProposedCommand, UserError> {
    let ClientsConnect { app, allow_rule, fingerprint } = wanted;
    let preview = connections::preview(state, &ClientsConnectPreview { app, allow_rule }).await?;
    if fingerprint.is_some_and(|wanted| wanted != preview.fingerprint) {
        return Err(changed_meanwhile(app));
    }
    let what = message!("proposal.clients.connect", app = &preview.name, client = &preview.client);
    let mut shown = ShownCommand { files: preview.files, ..ShownCommand::new(what) };
    if preview.replaces_entry {
        shown = shown.with_note(message!("proposal.clients.replacesEntry"));
    }
    if allow_rule {
        shown = shown.with_note(message!("proposal.clients.allowRule", app = &preview.name));
    }
    let resolved = ClientsConnect { app, allow_rule, fingerprint: Some(preview.fingerprint) };
    Ok(ProposedCommand::new(Command::ClientsConnect(resolved), shown))
}

fn changed_meanwhile(app: App) -> UserError {
    let what = message!("error.connect.changedMeanwhile", path = app.display_name());
    UserError::new(ErrorCode::BadConfig, what).with_hint(message!("error.connect.changedMeanwhileHint"))
}

async fn add_profile(state: &Arc<AppState>, wanted: ProfilesAdd) -> Result<ProposedCommand, UserError> {
    let settings = profiles::resolve(state, wanted.settings, None).await?;
    let what = message!("proposal.profiles.add");
    let changes = fields::diff(None::<&ProfileSettings>, &with_names(state, settings.clone()));
    let shown = ShownCommand::new(what).with_changes(changes);
    Ok(ProposedCommand::new(Command::ProfilesAdd(ProfilesAdd { settings }), shown))
}

async fn set_profile(state: &Arc<AppState>, wanted: ProfilesSet) -> Result<ProposedCommand, UserError> {
    let before: Profile = state.tools.profiles().get(&wanted.profile)?;
    let settings = profiles::resolve(state, wanted.settings, Some(&before)).await?;
    let what = message!("proposal.profiles.set", profile = &before.settings.name);
    let (old, new) = (with_names(state, before.settings), with_names(state, settings.clone()));
    let shown = ShownCommand::new(what).with_changes(fields::diff(Some(&old), &new));
    let resolved = ProfilesSet { profile: before.id.to_string(), settings };
    Ok(ProposedCommand::new(Command::ProfilesSet(resolved), shown))
}

/// Settings of a profile with names of servers in place of their ids.
fn with_names(state: &AppState, mut settings: ProfileSettings) -> ProfileSettings {
    let known = state.servers.list();
    for shown in &mut settings.servers {
        if let Some(server) = known.iter().find(|server| server.config.id == shown.server) {
            shown.server = server.config.name.as_str().into();
        }
    }
    settings
}

fn undo(state: &AppState, wanted: &RemovalsUndo) -> Result<ProposedCommand, UserError> {
    let (id, shown) = state.removals.look_at(wanted.removal.as_ref(), |item| match item {
        RemovedItem::Server(removed) => {
            ShownCommand::new(message!("proposal.removals.server", server = &removed.config.name))
        }
        RemovedItem::Profile(removed) => {
            let profile = &removed.profile.settings.name;
            ShownCommand::new(message!("proposal.removals.profile", profile = profile))
        }
        RemovedItem::Rule(removed) => {
            let sentences = permissions::sentences(state, removed.rules());
            let what = message!("proposal.removals.rule");
            ShownCommand { notes: sentences, ..ShownCommand::new(what) }
        }
    })?;
    Ok(ProposedCommand::new(Command::RemovalsUndo(RemovalsUndo { removal: Some(id) }), shown))
}

fn add_provider(wanted: ModelsAddProvider) -> ProposedCommand {
    let mut changes = fields::diff(None::<&Value>, &wanted.draft);
    changes.extend(wanted.key.as_ref().map(|_| fields::set("/key", REDACTED)));
    let shown = ShownCommand::new(message!("proposal.models.add")).with_changes(changes);
    ProposedCommand::new(Command::ModelsAddProvider(wanted), shown)
}

async fn set_settings(state: &Arc<AppState>, wanted: SettingsSet) -> Result<ProposedCommand, UserError> {
    let (before, after) = settings::change(state, &wanted).await?;
    let shown = ShownCommand::new(message!("proposal.settings.set"))
        .with_changes(fields::diff(Some(&before), &after));
    Ok(ProposedCommand::new(Command::SettingsSet(wanted), shown))
}
