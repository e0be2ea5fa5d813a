//! Servers: adding, changing, removing, starting and stopping them. The file is written first, then the
//! running servers are changed. An edit of the transport starts a new generation, and a removed server
//! takes its permissions and secrets with it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gatehouse_model::ask::AutoApprove;
use gatehouse_model::command::{
    Authority, ServersAdd, ServersDuplicate, ServersEdit, ServersStop, ServersTest, ServersTrustLabels,
};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::{Declared, LogLine, Origin, ServerDraft, ServerView, TestReport};
use gatehouse_model::{ErrorCode, Generation, Problem, ServerConfig, ServerId, ServerStatus};
use gatehouse_servers::ServerSnapshot;
use tokio::sync::MutexGuard;

use super::{Parts, draft, secrets, sign_in};
use crate::{first_start, redact};

type Configs<'a> = MutexGuard<'a, Vec<ServerConfig>>;

pub(super) async fn list(parts: &Arc<Parts>, by: Authority) -> Result<Vec<ServerView>, Problem> {
    let snapshots = parts.servers.list();
    // A caller that sees a server as connected here must find its tools in the catalog.
    parts.tools.refresh().await;
    let mut all = join_all(snapshots.into_iter().map(|snapshot| view_of(parts, snapshot))).await;
    if by < Authority::Operator {
        for rule in all.iter_mut().flat_map(|view| &mut view.auto_approve) {
            *rule = redact::rule_name(rule);
        }
    }
    Ok(all)
}

pub(super) async fn add(parts: &Arc<Parts>, wanted: ServersAdd) -> Result<ServerView, Problem> {
    let config = {
        let mut configs = parts.configs.lock().await;
        draft::check(&wanted.draft, None, &configs)?;
        let config = with_id(new_id()?, wanted.draft);
        permitted(parts, &config).await?;
        let plan = secrets::Plan::new(None, &config, &wanted.secrets)?;
        plan.keep(parts).await?;
        if let Err(problem) = put(parts, &mut configs, config.clone(), ConfigCause::Added).await {
            secrets::forget(parts, &config).await;
            return Err(problem);
        }
        config
    };
    if wanted.trust_labels {
        parts.tools.rights().trust_labels(&config.id, true).await?;
        grant_reads_when_known(parts, &config).await?;
    }
    view(parts, &config.id).await
}

pub(super) async fn edit(parts: &Arc<Parts>, wanted: ServersEdit) -> Result<ServerView, Problem> {
    let mut configs = parts.configs.lock().await;
    let before = named(&configs, &wanted.server)?.clone();
    draft::check(&wanted.draft, Some(&before.id), &configs)?;
    let mut after = with_id(before.id.clone(), wanted.draft);
    let another = after.transport != before.transport;
    after.generation = if another { before.generation.next() } else { before.generation };
    if another || after.name != before.name {
        permitted(parts, &after).await?;
    }
    let plan = secrets::Plan::new(Some(&before), &after, &wanted.secrets)?;
    plan.keep(parts).await?;
    put(parts, &mut configs, after.clone(), what_was_done(&before, &after)).await?;
    let reconnect = plan.has_new() && !another && after.enabled;
    if another {
        parts.sign_ins.forget(&before).await;
    }
    plan.forget_old(parts).await;
    drop(configs);
    if reconnect {
        parts.servers.reconnect(&after.id).await?;
    }
    view(parts, &after.id).await
}

pub(super) async fn duplicate(parts: &Arc<Parts>, wanted: &ServersDuplicate) -> Result<ServerView, Problem> {
    let mut configs = parts.configs.lock().await;
    let original = named(&configs, &wanted.server)?.clone();
    draft::check_name(&wanted.name, None, &configs)?;
    // Secrets are not copied, so a copy that refers to secrets stays off until they are given.
    let enabled = original.enabled && !secrets::needs_any(&original.transport);
    let copy = ServerConfig {
        id: new_id()?,
        generation: Generation::default(),
        name: wanted.name.clone(),
        enabled,
        ..original
    };
    put(parts, &mut configs, copy.clone(), ConfigCause::Added).await?;
    drop(configs);
    view(parts, &copy.id).await
}

pub(super) async fn test(parts: &Arc<Parts>, wanted: ServersTest) -> Result<TestReport, Problem> {
    draft::check(&wanted.draft, None, &[])?;
    let config = with_id(new_id()?, wanted.draft);
    let plan = secrets::Plan::new(None, &config, &wanted.secrets)?;
    let kept = plan.keep(parts).await;
    let tried = match kept {
        Ok(()) => parts.servers.test(config.clone()).await,
        Err(problem) => Err(problem),
    };
    secrets::forget(parts, &config).await;
    tried.map(|tried| {
        let counts = tried.lists.counts();
        let tools = gatehouse_tools::tried(&tried.lists.tools);
        TestReport { server: tried.server, tools, resources: counts.resources, prompts: counts.prompts }
    })
}

pub(super) async fn log(parts: &Arc<Parts>, server: &str) -> Result<Vec<LogLine>, Problem> {
    let id = find(parts, server)?.id.clone();
    parts.servers.get(&id).map(|handle| handle.log()).ok_or_else(|| no_server(server))
}

pub(super) async fn remove(parts: &Arc<Parts>, server: &str) -> Result<(), Problem> {
    let mut configs = parts.configs.lock().await;
    let gone = named(&configs, server)?.clone();
    let left: Vec<_> = configs.iter().filter(|config| config.id != gone.id).cloned().collect();
    record(parts, &gone, ConfigCause::Removed).await?;
    write(parts, &left).await?;
    *configs = left;
    let taken = take_away(parts, &gone).await;
    parts.config_changed(ConfigCause::Removed, Some(&gone));
    taken
}

/// Restores the default servers. Those that still exist keep their ids and permissions; all others are
/// removed with their permissions and secrets.
pub(super) async fn reset(parts: &Arc<Parts>) -> Result<Vec<ServerView>, Problem> {
    let mut configs = parts.configs.lock().await;
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
        record(parts, config, *cause).await?;
    }
    write(parts, &wanted).await?;
    adopt(parts, &mut configs, wanted).await?;
    for (config, cause) in &changes {
        parts.config_changed(*cause, Some(config));
    }
    drop(configs);
    list(parts, Authority::Operator).await
}

pub(super) async fn start(parts: &Arc<Parts>, server: &str) -> Result<(), Problem> {
    let mut configs = parts.configs.lock().await;
    let config = named(&configs, server)?.clone();
    if !config.enabled && parts.servers.is_on() {
        let enabled = ServerConfig { enabled: true, ..config.clone() };
        put(parts, &mut configs, enabled, ConfigCause::Enabled).await?;
    }
    drop(configs);
    parts.servers.start(&config.id).await
}

pub(super) async fn stop(parts: &Arc<Parts>, wanted: &ServersStop) -> Result<(), Problem> {
    let mut configs = parts.configs.lock().await;
    let config = named(&configs, &wanted.server)?.clone();
    if !(wanted.disable && config.enabled) {
        drop(configs);
        return parts.servers.stop(&config.id).await;
    }
    let disabled = ServerConfig { enabled: false, ..config };
    let mut all = (*configs).clone();
    all.iter_mut().filter(|other| other.id == disabled.id).for_each(|other| other.clone_from(&disabled));
    let sealed = all.clone();
    let written = async {
        record(parts, &disabled, ConfigCause::Disabled).await?;
        // Saved without authority: anyone may stop a server, so this must not renew the seal of a list
        // that failed verification.
        parts.on_store(move |store| store.servers().save(&sealed)).await
    };
    if let Err(problem) = written.await {
        // The server is stopped all the same, until the next start.
        parts.servers.stop(&disabled.id).await?;
        return Err(problem);
    }
    *configs = all;
    let put = parts.servers.put(disabled.clone()).await.map(drop);
    parts.config_changed(ConfigCause::Disabled, Some(&disabled));
    put
}

pub(super) async fn reconnect(parts: &Arc<Parts>, server: &str) -> Result<(), Problem> {
    let config = find(parts, server)?;
    if !config.enabled {
        return Err(Problem::new(ErrorCode::ServerUnavailable, format!("{} is switched off.", config.name))
            .todo("Start it to switch it on."));
    }
    parts.servers.reconnect(&config.id).await
}

pub(super) async fn trust_labels(parts: &Arc<Parts>, wanted: &ServersTrustLabels) -> Result<(), Problem> {
    let server = find(parts, &wanted.server)?;
    parts.tools.rights().trust_labels(&server.id, wanted.trusted).await
}

/// Applies servers that were read from the file, after a person confirmed them.
pub(crate) async fn adopt(
    parts: &Parts,
    configs: &mut Vec<ServerConfig>,
    wanted: Vec<ServerConfig>,
) -> Result<(), Problem> {
    let before = std::mem::replace(configs, wanted.clone());
    for gone in before.iter().filter(|old| !wanted.iter().any(|new| new.id == old.id)) {
        take_away(parts, gone).await?;
    }
    for config in wanted {
        let old = before.iter().find(|old| old.id == config.id);
        if old == Some(&config) {
            continue;
        }
        if let Some(old) = old.filter(|old| old.generation != config.generation) {
            parts.sign_ins.forget(old).await;
            match secrets::Plan::new(Some(old), &config, &[]) {
                Ok(plan) => {
                    plan.keep(parts).await?;
                    plan.forget_old(parts).await;
                }
                // The server reports the missing secret itself when it connects.
                Err(_) => secrets::forget(parts, old).await,
            }
        }
        parts.servers.put(config).await?;
    }
    Ok(())
}

/// Writes a server and then applies it to the running servers.
async fn put(
    parts: &Parts,
    configs: &mut Configs<'_>,
    config: ServerConfig,
    cause: ConfigCause,
) -> Result<(), Problem> {
    let mut all = (**configs).clone();
    match all.iter_mut().find(|other| other.id == config.id) {
        Some(place) => *place = config.clone(),
        None => all.push(config.clone()),
    }
    record(parts, &config, cause).await?;
    write(parts, &all).await?;
    **configs = all;
    let put = parts.servers.put(config.clone()).await.map(drop);
    parts.config_changed(cause, Some(&config));
    put
}

async fn take_away(parts: &Parts, gone: &ServerConfig) -> Result<(), Problem> {
    parts.servers.remove(&gone.id).await;
    secrets::forget(parts, gone).await;
    parts.sign_ins.forget(gone).await;
    parts.tools.rights().server_removed(&gone.id).await
}

async fn write(parts: &Parts, configs: &[ServerConfig]) -> Result<(), Problem> {
    let all = configs.to_vec();
    parts.on_store(move |store| store.servers().save_anew(&all)).await
}

async fn record(parts: &Parts, config: &ServerConfig, cause: ConfigCause) -> Result<(), Problem> {
    let event = AuditEvent::ServerChanged {
        server: config.id.clone(),
        name: config.name.clone(),
        what: cause.word().to_owned(),
    };
    parts.audit(event).await
}

fn what_was_done(before: &ServerConfig, after: &ServerConfig) -> ConfigCause {
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

/// A wide grant covers the tools that exist when it is given, so this waits for the first list of tools.
/// If the server does not connect in time, its labels are trusted all the same, and its read-only tools
/// need approval.
async fn grant_reads_when_known(parts: &Parts, config: &ServerConfig) -> Result<(), Problem> {
    if !config.enabled || !config.autostart || !parts.servers.is_on() {
        return Ok(());
    }
    let mut revision = parts.servers.revision();
    let limit = config.limits.connect().saturating_add(Duration::from_secs(1));
    let connected = tokio::time::timeout(limit, async {
        loop {
            match parts.servers.get(&config.id).map(|handle| handle.status()) {
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
    .unwrap_or(false);
    if !connected {
        return Ok(());
    }
    parts.tools.refresh().await;
    parts.tools.rights().set_auto_approve(&config.id, AutoApprove::Reads).await
}

/// Refuses what the managed policy forbids (SRV-18).
async fn permitted(parts: &Parts, config: &ServerConfig) -> Result<(), Problem> {
    let (policy, config) = (parts.policy.clone(), config.clone());
    let forbidden = tokio::task::spawn_blocking(move || policy.forbids(&config)).await;
    match forbidden.unwrap_or_else(|error| Some(format!("The policy could not be read: {error}."))) {
        None => Ok(()),
        Some(why) => Err(Problem::new(ErrorCode::NotPermitted, why)),
    }
}

/// Finds a server by id or name.
fn named<'a>(configs: &'a [ServerConfig], wanted: &str) -> Result<&'a ServerConfig, Problem> {
    let by_id = configs.iter().find(|config| config.id.as_str() == wanted);
    let exact = by_id.or_else(|| configs.iter().find(|config| config.name == wanted));
    let found =
        exact.or_else(|| configs.iter().find(|config| config.name.to_lowercase() == wanted.to_lowercase()));
    found.ok_or_else(|| no_server(wanted))
}

/// Finds a loaded server by id or name.
pub(super) fn find(parts: &Parts, wanted: &str) -> Result<Arc<ServerConfig>, Problem> {
    let all = parts.servers.list();
    let configs: Vec<_> = all.iter().map(|snapshot| (*snapshot.config).clone()).collect();
    named(&configs, wanted).map(|config| Arc::new(config.clone()))
}

/// Why a list of a connected server is an error: its strict mode is on, and it did not declare the
/// capability (SRV-13).
pub(super) fn undeclared(
    parts: &Parts,
    config: &ServerConfig,
    list: &str,
    has: impl Fn(&Declared) -> bool,
) -> Option<Problem> {
    let handle = parts.servers.get(&config.id)?;
    let is_connected = matches!(handle.status(), ServerStatus::Connected { .. });
    let is_missing = config.limits.strict && is_connected && !has(&handle.lists().declared());
    is_missing.then(|| {
        Problem::new(ErrorCode::NotFound, format!("{} does not declare that it has {list}.", config.name))
            .why("The server is in strict mode, so a list that it did not declare is an error.")
            .todo("Switch strict mode off in its settings to see an empty list instead.")
    })
}

fn no_server(wanted: &str) -> Problem {
    Problem::new(ErrorCode::NotFound, format!("There is no server “{wanted}”."))
        .todo("`gatehousectl servers list` shows all servers.")
}

fn with_id(id: ServerId, draft: ServerDraft) -> ServerConfig {
    let ServerDraft { name, transport, enabled, autostart, look, limits } = draft;
    let generation = Generation::default();
    ServerConfig { id, generation, name, transport, enabled, autostart, look, limits, origin: Origin::User }
}

fn new_id() -> Result<ServerId, Problem> {
    let bits = getrandom::u64().map_err(|e| {
        Problem::new(ErrorCode::Internal, "No id could be made.")
            .why(format!("The system gave no random bits: {e}."))
    })?;
    Ok(ServerId::from_random(bits))
}

async fn view(parts: &Parts, id: &ServerId) -> Result<ServerView, Problem> {
    let snapshot = parts.servers.list().into_iter().find(|snapshot| snapshot.config.id == *id);
    match snapshot {
        Some(snapshot) => Ok(view_of(parts, snapshot).await),
        None => Err(no_server(id.as_str())),
    }
}

async fn view_of(parts: &Parts, snapshot: ServerSnapshot) -> ServerView {
    let rights = parts.tools.rights();
    ServerView {
        sign_in: sign_in::state(parts, &snapshot.config).await,
        auto_approve: rights.auto_approve(&snapshot.config.id),
        trusted_labels: rights.trusts_labels(&snapshot.config.id),
        icon: snapshot.config.icon().to_owned(),
        config: (*snapshot.config).clone(),
        status: snapshot.status,
        counts: snapshot.counts,
        declared: snapshot.declared,
        log_tail: snapshot.log_tail,
        errors_last_hour: snapshot.errors_last_hour,
    }
}
