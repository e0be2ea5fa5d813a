//! Servers: adding, changing, removing, starting and stopping them. The file is written first, then the
//! running servers are changed. An edit of the transport starts a new generation, and a removed server
//! takes its permissions and secrets with it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gatehouse_model::approval::AutoApprove;
use gatehouse_model::command::{
    Authority, ExportedText, Removal, ServersAdd, ServersDuplicate, ServersEdit, ServersRemove, ServersSet,
    ServersStop, ServersTest, ServersTrustLabels, TypedCommand as _,
};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::{DeclaredCapabilities, LogLine, ServerOrigin, ServerView, TestReport};
use gatehouse_model::{
    ErrorCode, Generation, Message, ServerConfig, ServerId, ServerStatus, UserError, message,
};
use gatehouse_servers::{ListPosition, ServerSnapshot};
use gatehouse_tools::LabelTrust;
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::approvals::answered_by;
use super::lookup::{find, find_config, server_not_found};
use super::named_runs::NamedRun;
use super::{AppState, server_draft, sign_in};
use crate::redact;
use crate::removals::{RemovedItem, RemovedServer, ids};
use crate::server_configs::apply::{apply_configs, forget_stored};
use crate::server_configs::secrets::SecretChanges;
use crate::server_configs::{bundles, first_start, removals, secrets};

pub(super) type Configs<'a> = MutexGuard<'a, Vec<ServerConfig>>;

pub(super) async fn list(state: &Arc<AppState>, by: Authority) -> Result<Vec<ServerView>, UserError> {
    let snapshots = state.servers.list();
    // A caller that sees a server as connected here must find its tools in the catalog.
    state.tools.refresh().await;
    let mut all = join_all(snapshots.into_iter().map(|snapshot| view_of(state, snapshot))).await;
    if by < Authority::Operator {
        all.iter_mut().for_each(redact::server);
    }
    Ok(all)
}

/// If the run is cancelled while it waits for the server to connect, the server is removed again.
pub(super) async fn add(
    state: &Arc<AppState>,
    wanted: ServersAdd,
    gone: &CancellationToken,
) -> Result<ServerView, UserError> {
    let ServersAdd { draft, trust_labels, secrets: given, run } = wanted;
    let named = NamedRun::begin(state, run.as_deref(), gone)?;
    let config = {
        let mut configs = state.configs.lock().await;
        server_draft::check(&draft, None, &configs).await?;
        let config = ServerConfig::from_draft(new_id()?, draft);
        check_admin_policy(state, &config).await?;
        let secret_changes = SecretChanges::new(None, &config, &given)?;
        secret_changes.store(state).await?;
        if let Err(error) = named.ensure_not_cancelled() {
            secrets::forget(state, &config).await;
            return Err(error);
        }
        let change = ServerConfigChange { before: None, after: config.clone(), secrets: secret_changes };
        write_change(state, &mut configs, change).await?;
        config
    };
    if trust_labels {
        let order = LabelTrust::of(&config.id, true, answered_by(state.owner));
        state.tools.permissions().trust_labels(order).await?;
        let connected = async { Ok(is_connected_in_time(state, &config).await) };
        match named.unless_cancelled(connected).await {
            Ok(true) => grant_reads(state, &config).await?,
            // Its labels are trusted all the same, and its read-only tools need approval.
            Ok(false) => {}
            Err(error) => {
                let added = ServersRemove { server: config.id.as_str().to_owned(), undoable: false };
                Box::pin(remove(state, &added)).await?;
                return Err(error);
            }
        }
    }
    view(state, &config.id).await
}

pub(super) async fn edit(state: &Arc<AppState>, wanted: ServersEdit) -> Result<ServerView, UserError> {
    let configs = state.configs.lock().await;
    edit_locked(state, configs, &wanted).await
}

pub(super) async fn set(state: &Arc<AppState>, wanted: ServersSet) -> Result<ServerView, UserError> {
    let configs = state.configs.lock().await;
    let edit = to_edit(&configs, wanted)?;
    edit_locked(state, configs, &edit).await
}

/// The edit that changes of single settings come to, as the server is now.
pub(super) fn to_edit(configs: &[ServerConfig], wanted: ServersSet) -> Result<ServersEdit, UserError> {
    let ServersSet { server, changes, secrets } = wanted;
    let before = find_config(configs, &server)?;
    let draft = server_draft::changed(Some(before), &changes).map_err(|problems| {
        let refused = || {
            let what = message!("error.app.badArguments", name = ServersSet::NAME);
            UserError::new(ErrorCode::BadRequest, what)
        };
        problems.into_iter().next().map_or_else(refused, UserError::from)
    })?;
    Ok(ServersEdit { server: before.id.to_string(), draft, secrets })
}

/// Checks an edit of a server. Nothing changes yet.
pub(super) async fn plan_edit(
    state: &AppState,
    configs: &[ServerConfig],
    wanted: &ServersEdit,
) -> Result<ServerConfigChange, UserError> {
    let before = find_config(configs, &wanted.server)?;
    server_draft::check(&wanted.draft, Some(&before.id), configs).await?;
    let after = before.with_draft(wanted.draft.clone());
    if after.generation != before.generation || after.name != before.name {
        check_admin_policy(state, &after).await?;
    }
    let secrets = SecretChanges::new(Some(before), &after, &wanted.secrets)?;
    Ok(ServerConfigChange { before: Some(before.clone()), after, secrets })
}

async fn edit_locked(
    state: &Arc<AppState>,
    mut configs: Configs<'_>,
    wanted: &ServersEdit,
) -> Result<ServerView, UserError> {
    let change = plan_edit(state, &configs, wanted).await?;
    let (id, reconnect) = (change.after.id.clone(), change.needs_reconnect());
    apply_change(state, &mut configs, change).await?;
    drop(configs);
    if reconnect {
        state.servers.reconnect(&id).await?;
    }
    view(state, &id).await
}

/// A server that is added, or one that gets other settings, with what becomes of its secrets.
pub(super) struct ServerConfigChange {
    /// The server as it is; absent for a new one.
    pub(super) before: Option<ServerConfig>,
    pub(super) after: ServerConfig,
    pub(super) secrets: SecretChanges,
}

impl ServerConfigChange {
    /// Whether the server has to be reconnected after the change, which does not do that by itself: only secrets differ.
    pub(super) fn needs_reconnect(&self) -> bool {
        let is_same = self.before.as_ref().is_some_and(|before| before.generation == self.after.generation);
        is_same && self.secrets.has_new() && self.after.enabled
    }
}

/// Makes a validated change of a server: stores its secrets, writes it, and applies it to the running servers.
pub(super) async fn apply_change(
    state: &Arc<AppState>,
    configs: &mut Configs<'_>,
    change: ServerConfigChange,
) -> Result<(), UserError> {
    change.secrets.store(state).await?;
    write_change(state, configs, change).await
}

/// The same once its secrets are stored. Those of a new server are forgotten if it can't be written.
async fn write_change(
    state: &Arc<AppState>,
    configs: &mut Configs<'_>,
    change: ServerConfigChange,
) -> Result<(), UserError> {
    let ServerConfigChange { before, after, secrets: secret_changes } = change;
    let Some(before) = before else {
        if let Err(error) = put(state, configs, after.clone(), ConfigCause::Added).await {
            secrets::forget(state, &after).await;
            return Err(error);
        }
        return Ok(());
    };
    let is_new_generation = after.generation != before.generation;
    put(state, configs, after.clone(), change_cause(&before, &after)).await?;
    if is_new_generation {
        state.sign_ins.forget(&before).await;
    }
    secret_changes.forget_old(state).await;
    if is_new_generation {
        bundles::sweep(state, configs, std::slice::from_ref(&before)).await;
    }
    Ok(())
}

pub(super) async fn duplicate(
    state: &Arc<AppState>,
    wanted: &ServersDuplicate,
) -> Result<ServerView, UserError> {
    let mut configs = state.configs.lock().await;
    let original = find_config(&configs, &wanted.server)?.clone();
    server_draft::check_name(&wanted.name, None, &configs)?;
    // Secrets are not copied, so a copy that refers to secrets stays off until they are given.
    let enabled = original.enabled && !secrets::needs_any(&original.transport);
    let copy = ServerConfig {
        id: new_id()?,
        generation: Generation::default(),
        name: wanted.name.clone(),
        enabled,
        // A copy is the user's own.
        origin: ServerOrigin::User,
        ..original
    };
    put(state, &mut configs, copy.clone(), ConfigCause::Added).await?;
    drop(configs);
    view(state, &copy.id).await
}

pub(super) async fn test(
    state: &Arc<AppState>,
    wanted: ServersTest,
    gone: &CancellationToken,
) -> Result<TestReport, UserError> {
    let ServersTest { draft, secrets: given, run } = wanted;
    let named = NamedRun::begin(state, run.as_deref(), gone)?;
    server_draft::check(&draft, None, &[]).await?;
    let config = ServerConfig::from_draft(new_id()?, draft);
    let secret_changes = SecretChanges::new(None, &config, &given)?;
    let kept = secret_changes.store(state).await;
    let tried = match kept {
        Ok(()) => named.unless_cancelled(state.servers.test(config.clone())).await,
        Err(error) => Err(error),
    };
    secrets::forget(state, &config).await;
    tried.map(|tried| {
        let counts = tried.lists.counts();
        let tools = gatehouse_tools::preview_tools(&tried.lists.tools);
        TestReport { server: tried.server, tools, resources: counts.resources, prompts: counts.prompts }
    })
}

pub(super) async fn log(state: &Arc<AppState>, server: &str) -> Result<Vec<LogLine>, UserError> {
    let id = find(state, server)?.id.clone();
    state.servers.get(&id).map(|handle| handle.log()).ok_or_else(|| server_not_found(server))
}

pub(super) async fn settings_text(
    state: &Arc<AppState>,
    server: &str,
    by: Authority,
) -> Result<ExportedText, UserError> {
    let mut config = ServerConfig::clone(&*find(state, server)?);
    if by < Authority::Operator {
        gatehouse_store::redact_transport(&mut config.transport);
    }
    let text = gatehouse_store::settings_text(&config).map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.app.settingsUnwritten"))
            .with_cause(format!("{error}."))
    })?;
    Ok(ExportedText { text })
}

pub(super) async fn remove(
    state: &Arc<AppState>,
    wanted: &ServersRemove,
) -> Result<Option<Removal>, UserError> {
    let removed = take_out(state, &wanted.server).await?;
    if wanted.undoable {
        return Ok(removals::keep(state, RemovedItem::Server(Box::new(removed))).await);
    }
    removals::complete(state, &[removed]).await;
    Ok(None)
}

/// Removes a server with its permissions. Its secrets and its sign-in stay stored until the removal is completed.
pub(super) async fn take_out(state: &Arc<AppState>, server: &str) -> Result<RemovedServer, UserError> {
    let mut configs = state.configs.lock().await;
    let gone = find_config(&configs, server)?.clone();
    let position = ListPosition::of(&gone.id, &state.removals.full_list(&configs));
    let left: Vec<_> = configs.iter().filter(|config| config.id != gone.id).cloned().collect();
    write_list(state, &mut configs, left, &gone, ConfigCause::Removed).await?;
    let permissions = state.tools.permissions().of_server(&gone.id);
    let last = state.servers.remove(&gone.id).await.unwrap_or_default();
    state.sign_ins.cancel(&gone.id);
    let taken = state.tools.permissions().server_removed(&gone.id).await;
    // The catalog has to know that the server is gone before it can come back.
    state.tools.refresh().await;
    state.config_changed(ConfigCause::Removed, Some(&gone));
    if let Err(error) = taken {
        forget_stored(state, &gone).await;
        bundles::sweep(state, &configs, std::slice::from_ref(&gone)).await;
        return Err(error);
    }
    Ok(RemovedServer { config: gone, position, last, permissions })
}

/// Restores the default servers. Those that still exist keep their ids and permissions; all others are
/// removed with their permissions and secrets.
pub(super) async fn reset(state: &Arc<AppState>, shown_to: Authority) -> Result<Vec<ServerView>, UserError> {
    let mut configs = state.configs.lock().await;
    let mut wanted = first_start::servers()?;
    for config in &mut wanted {
        let same = |other: &&ServerConfig| other.name == config.name && other.transport == config.transport;
        if let Some(there) = configs.iter().find(same) {
            (config.id, config.generation) = (there.id.clone(), there.generation);
        }
    }
    let gone = configs.iter().filter(|old| !wanted.iter().any(|new| new.id == old.id));
    let mut changes: Vec<(ServerConfig, ConfigCause)> =
        gone.map(|gone| (gone.clone(), ConfigCause::Removed)).collect();
    for config in &wanted {
        match configs.iter().find(|old| old.id == config.id) {
            None => changes.push((config.clone(), ConfigCause::Added)),
            Some(old) if old != config => changes.push((config.clone(), ConfigCause::Edited)),
            Some(_) => {}
        }
    }
    for (config, cause) in &changes {
        record(state, config, *cause).await?;
    }
    write(state, &wanted).await?;
    apply_configs(state, &mut configs, wanted).await?;
    for (config, cause) in &changes {
        state.config_changed(*cause, Some(config));
    }
    drop(configs);
    list(state, shown_to).await
}

pub(super) async fn start(state: &Arc<AppState>, server: &str) -> Result<(), UserError> {
    let mut configs = state.configs.lock().await;
    let config = find_config(&configs, server)?.clone();
    if !config.enabled && state.servers.is_on() {
        let enabled = ServerConfig { enabled: true, ..config.clone() };
        put(state, &mut configs, enabled, ConfigCause::Enabled).await?;
    }
    drop(configs);
    state.servers.start(&config.id).await
}

pub(super) async fn stop(state: &Arc<AppState>, wanted: &ServersStop) -> Result<(), UserError> {
    let mut configs = state.configs.lock().await;
    let config = find_config(&configs, &wanted.server)?.clone();
    if !(wanted.disable && config.enabled) {
        drop(configs);
        return state.servers.stop(&config.id).await;
    }
    let disabled = ServerConfig { enabled: false, ..config };
    let mut all = (*configs).clone();
    all.iter_mut().filter(|other| other.id == disabled.id).for_each(|other| other.clone_from(&disabled));
    let sealed = all.clone();
    let written = async {
        record(state, &disabled, ConfigCause::Disabled).await?;
        // Saved without authority: anyone may stop a server, so this must not renew the seal of a list
        // that failed verification.
        state.with_store(move |store| store.servers().save(&sealed)).await
    };
    if let Err(error) = written.await {
        // The server is stopped all the same, until the next start.
        state.servers.stop(&disabled.id).await?;
        return Err(error);
    }
    *configs = all;
    let put = state.servers.put(disabled.clone()).await.map(drop);
    state.config_changed(ConfigCause::Disabled, Some(&disabled));
    put
}

pub(super) async fn reconnect(state: &Arc<AppState>, server: &str) -> Result<(), UserError> {
    let config = find(state, server)?;
    if !config.enabled {
        return Err(UserError::new(
            ErrorCode::ServerUnavailable,
            message!("error.app.serverOff", server = &config.name),
        )
        .with_hint(message!("error.app.serverOffHint")));
    }
    state.servers.reconnect(&config.id).await
}

pub(super) async fn trust_labels(
    state: &Arc<AppState>,
    wanted: &ServersTrustLabels,
) -> Result<(), UserError> {
    let server = find(state, &wanted.server)?;
    let order = LabelTrust {
        generation: wanted.generation,
        ..LabelTrust::of(&server.id, wanted.trusted, answered_by(state.owner))
    };
    state.tools.permissions().trust_labels(order).await
}

/// Writes a server and then applies it to the running servers.
pub(super) async fn put(
    state: &AppState,
    configs: &mut Configs<'_>,
    config: ServerConfig,
    cause: ConfigCause,
) -> Result<(), UserError> {
    let mut all = (**configs).clone();
    match all.iter_mut().find(|other| other.id == config.id) {
        Some(place) => *place = config.clone(),
        None => all.push(config.clone()),
    }
    write_list(state, configs, all, &config, cause).await?;
    let put = state.servers.put(config.clone()).await.map(drop);
    state.config_changed(cause, Some(&config));
    put
}

/// Writes a removed server again, at its old position, and then adds it to the running servers as it was.
pub(super) async fn restore(
    state: &AppState,
    configs: &mut Configs<'_>,
    removed: &RemovedServer,
) -> Result<(), UserError> {
    let RemovedServer { config, position, last, permissions: _ } = removed;
    let cause = ConfigCause::Restored;
    let mut all = (**configs).clone();
    all.insert(position.index_in(&ids(&all)), config.clone());
    write_list(state, configs, all, config, cause).await?;
    let restored = state.servers.restore(config.clone(), position, last.clone()).await.map(drop);
    state.config_changed(cause, Some(config));
    restored
}

/// Records the change of a server and writes the list that has it.
async fn write_list(
    state: &AppState,
    configs: &mut Configs<'_>,
    all: Vec<ServerConfig>,
    changed: &ServerConfig,
    cause: ConfigCause,
) -> Result<(), UserError> {
    record(state, changed, cause).await?;
    write(state, &all).await?;
    **configs = all;
    Ok(())
}

async fn write(state: &AppState, configs: &[ServerConfig]) -> Result<(), UserError> {
    let all = configs.to_vec();
    state.with_store(move |store| store.servers().overwrite(&all)).await
}

async fn record(state: &AppState, config: &ServerConfig, cause: ConfigCause) -> Result<(), UserError> {
    let event = AuditEvent::ServerChanged {
        server: config.id.clone(),
        name: config.name.clone(),
        what: cause.as_str().to_owned(),
    };
    state.audit(event).await
}

fn change_cause(before: &ServerConfig, after: &ServerConfig) -> ConfigCause {
    let but_name_and_switch =
        ServerConfig { name: before.name.clone(), enabled: before.enabled, ..after.clone() };
    if *before != but_name_and_switch {
        return ConfigCause::Edited;
    }
    match (before.name == after.name, after.enabled) {
        (false, _) => ConfigCause::Renamed,
        (true, true) if !before.enabled => ConfigCause::Enabled,
        (true, false) if before.enabled => ConfigCause::Disabled,
        (true, _) => ConfigCause::Edited,
    }
}

/// Lets the reads of a connected server run without asking. A wide grant covers the tools that exist when it is given, so
/// this is for after the first list of tools.
async fn grant_reads(state: &AppState, config: &ServerConfig) -> Result<(), UserError> {
    state.tools.refresh().await;
    state.tools.permissions().set_auto_approve(&config.id, AutoApprove::Reads).await
}
/// Waits for a server that starts by itself to connect; `false` if it doesn't in the time that it has.
pub(super) async fn is_connected_in_time(state: &AppState, config: &ServerConfig) -> bool {
    if !config.enabled || !config.autostart || !state.servers.is_on() {
        return false;
    }
    let mut revision = state.servers.revision();
    let limit = config.limits.connect().saturating_add(Duration::from_secs(1));
    tokio::time::timeout(limit, async {
        loop {
            match state.servers.get(&config.id).map(|handle| handle.status()) {
                Some(ServerStatus::Connected { .. }) => return true,
                Some(
                    ServerStatus::Connecting { .. }
                    | ServerStatus::Stopped
                    | ServerStatus::Failed { next_retry: Some(_), .. },
                ) => {}
                Some(
                    ServerStatus::Disabled
                    | ServerStatus::NeedsAuth { .. }
                    | ServerStatus::NeedsClientRegistration { .. }
                    | ServerStatus::Failed { next_retry: None, .. },
                )
                | None => return false,
            }
            if revision.changed().await.is_err() {
                return false;
            }
        }
    })
    .await
    .unwrap_or(false)
}

/// Refuses what the managed policy forbids (SRV-18).
pub(super) async fn check_admin_policy(state: &AppState, config: &ServerConfig) -> Result<(), UserError> {
    let (policy, config) = (state.policy.clone(), config.clone());
    let forbidden = tokio::task::spawn_blocking(move || policy.forbids(&config)).await;
    let forbidden = forbidden.unwrap_or_else(|error| {
        Some(message!("error.servers.policyFailed", reason = error.to_string()).into())
    });
    match forbidden {
        None => Ok(()),
        Some(why) => Err(UserError::new(ErrorCode::NotPermitted, why)),
    }
}

/// Why a list of a connected server is an error: its strict mode is on, and it did not declare the
/// capability (SRV-13).
pub(super) fn undeclared_list_error(
    state: &AppState,
    config: &ServerConfig,
    list: Message,
    has: impl Fn(&DeclaredCapabilities) -> bool,
) -> Option<UserError> {
    let handle = state.servers.get(&config.id)?;
    let is_connected = matches!(handle.status(), ServerStatus::Connected { .. });
    let is_missing = config.limits.strict && is_connected && !has(&handle.lists().declared());
    is_missing.then(|| {
        UserError::new(
            ErrorCode::NotFound,
            message!("error.app.undeclaredList", server = &config.name, list = list),
        )
        .with_cause(message!("error.app.undeclaredListCause"))
        .with_hint(message!("error.app.undeclaredListHint"))
    })
}

pub(super) fn new_id() -> Result<ServerId, UserError> {
    let bits = getrandom::u64().map_err(|e| {
        UserError::new(ErrorCode::Internal, message!("error.app.noId"))
            .with_cause(message!("error.app.noRandom", reason = e.to_string()))
    })?;
    Ok(ServerId::from_random(bits))
}

async fn view(state: &AppState, id: &ServerId) -> Result<ServerView, UserError> {
    let snapshot = state.servers.list().into_iter().find(|snapshot| snapshot.config.id == *id);
    match snapshot {
        Some(snapshot) => Ok(view_of(state, snapshot).await),
        None => Err(server_not_found(id.as_str())),
    }
}

async fn view_of(state: &AppState, snapshot: ServerSnapshot) -> ServerView {
    let permissions = state.tools.permissions();
    ServerView {
        sign_in: sign_in::state(state, &snapshot.config).await,
        auto_approve: permissions.auto_approve(&snapshot.config.id),
        trusted_labels: permissions.trusts_labels(&snapshot.config.id),
        icon: snapshot.config.icon().to_owned(),
        config: (*snapshot.config).clone(),
        status: snapshot.status,
        counts: snapshot.counts,
        declared: snapshot.declared,
        log_tail: snapshot.log_tail,
        errors_last_hour: snapshot.errors_last_hour,
    }
}
