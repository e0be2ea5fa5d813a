//! The settings as commands: showing and changing them, and the switch for MCP as a whole. Settings are
//! written before they take effect, except when something is stopped.

use std::sync::Arc;

use gatehouse_gateway::AllowedHosts;
use gatehouse_integrations::registry_address;
use gatehouse_model::command::{Authority, SettingsSet};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::settings::{MIN_AUDIT_DAYS, OFFICIAL_REGISTRY, PackageSource, is_registry_address};
use gatehouse_model::{
    ErrorCode, Event, EventSink as _, Message, MessageParam, Settings, ToolNaming, UserError, message,
};

use super::AppState;
use crate::retention::apply_retention;
use crate::settings::{EffectiveSettings, save};

/// Maximum number of further host names of the gateway.
const MAX_ALLOWED_HOSTS: usize = 32;

pub(super) async fn show(state: &Arc<AppState>) -> Result<Settings, UserError> {
    Ok(state.settings.lock().await.settings.clone())
}

/// What is wrong with the stored settings.
pub(super) async fn problem(state: &Arc<AppState>) -> Option<UserError> {
    state.settings.lock().await.problem.clone()
}

pub(super) async fn set(state: &Arc<AppState>, wanted: &SettingsSet) -> Result<Settings, UserError> {
    let mut effective = state.settings.lock().await;
    let set = with(&effective.settings, wanted)?;
    if effective.problem.is_none() && effective.settings == set {
        return Ok(set);
    }
    let what = describe(&set);
    store_settings(state, &mut effective, SettingsChange { set: set.clone(), what, by: Authority::Operator })
        .await?;
    state.servers.set_packages(&set.packages);
    state.sign_ins.set_client_document(set.client_document.clone());
    state.servers.set_call_limits(set.calls);
    state.tools.set_naming(set.tool_names).await;
    state.allowed_hosts.set(&set.allowed_hosts);
    state.config_changed(ConfigCause::Settings, None);
    apply_retention(state, &effective).await?;
    Ok(set)
}

/// The settings before and after a change. Nothing changes.
pub(super) async fn change(
    state: &Arc<AppState>,
    wanted: &SettingsSet,
) -> Result<(Settings, Settings), UserError> {
    let now = state.settings.lock().await.settings.clone();
    let after = with(&now, wanted)?;
    Ok((now, after))
}

/// Checks settings that are to be set. Nothing changes.
pub(super) async fn validate(state: &Arc<AppState>, wanted: &SettingsSet) -> Result<(), UserError> {
    with(&state.settings.lock().await.settings, wanted).map(drop)
}

/// The settings with what is wanted.
fn with(now: &Settings, wanted: &SettingsSet) -> Result<Settings, UserError> {
    check(wanted)?;
    Ok(Settings {
        audit_days: wanted.audit_days,
        activity_days: wanted.activity_days,
        activity_calls: wanted.activity_calls,
        mcp_on: now.mcp_on,
        packages: wanted.packages.clone().unwrap_or_else(|| now.packages.clone()),
        client_document: match wanted.client_document.as_deref().map(str::trim) {
            None => now.client_document.clone(),
            Some("") => None,
            Some(address) => Some(address.to_owned()),
        },
        calls: wanted.calls.unwrap_or(now.calls),
        tool_names: wanted.tool_names.unwrap_or(now.tool_names),
        allowed_hosts: match &wanted.allowed_hosts {
            Some(hosts) => hosts.iter().map(|host| host.trim().to_lowercase()).collect(),
            None => now.allowed_hosts.clone(),
        },
        registry: match wanted.registry.as_deref().map(str::trim) {
            None => now.registry.clone(),
            Some("") => OFFICIAL_REGISTRY.to_owned(),
            Some(address) => registry_address(address)?,
        },
    })
}

pub(super) async fn switch_on(state: &Arc<AppState>) -> Result<(), UserError> {
    let mut effective = state.settings.lock().await;
    if !effective.settings.mcp_on || effective.problem.is_some() {
        let set = Settings { mcp_on: true, ..effective.settings.clone() };
        let what = message!("audit.settings.switchedOn");
        store_settings(state, &mut effective, SettingsChange { set, what, by: Authority::Operator }).await?;
    }
    if !state.servers.is_on() {
        state.servers.set_mcp_enabled(true).await;
        state.bus.emit(Event::SwitchChanged { on: true });
    }
    Ok(())
}

/// MCP is off when this returns, even with an error: an error means that a restart would switch it on
/// again.
pub(super) async fn switch_off(state: &Arc<AppState>) -> Result<(), UserError> {
    let mut effective = state.settings.lock().await;
    if state.servers.is_on() {
        // The switch comes first, so that calls that end because of it can report the reason.
        tokio::join!(biased; state.servers.set_mcp_enabled(false), async { state.tools.end_all_calls() });
        state.bus.emit(Event::SwitchChanged { on: false });
    }
    // Settings that failed verification keep MCP off already, and must not be replaced without the
    // operator's authority.
    if effective.settings.mcp_on && effective.problem.is_none() {
        let set = Settings { mcp_on: false, ..effective.settings.clone() };
        let what = message!("audit.settings.switchedOff");
        store_settings(state, &mut effective, SettingsChange { set, what, by: Authority::Anyone }).await?;
    }
    Ok(())
}

/// New settings, their text in the audit log, and the authority of the caller.
struct SettingsChange {
    set: Settings,
    what: Message,
    by: Authority,
}

/// Writes settings and puts them in force.
async fn store_settings(
    state: &Arc<AppState>,
    effective: &mut EffectiveSettings,
    change: SettingsChange,
) -> Result<(), UserError> {
    let SettingsChange { set, what, by } = change;
    state.audit(AuditEvent::SettingsChanged { what: what.into() }).await?;
    let sealed = set.clone();
    state.with_store(move |store| save(store, &sealed, by)).await?;
    *effective = EffectiveSettings::verified(set);
    Ok(())
}

fn check(wanted: &SettingsSet) -> Result<(), UserError> {
    let refuse = |what: Message| Err(UserError::new(ErrorCode::BadRequest, what));
    if wanted.audit_days.is_some_and(|days| days < MIN_AUDIT_DAYS) {
        return refuse(message!("error.app.auditDaysTooFew", days = MIN_AUDIT_DAYS.to_string()));
    }
    if wanted.activity_days == 0 || wanted.activity_calls == 0 {
        return refuse(message!("error.app.activityTooFew"));
    }
    let calls = wanted.calls.iter().flat_map(|calls| [calls.silent_secs, calls.cap_secs]);
    if calls.flatten().any(|secs| secs == 0) {
        return refuse(message!("error.app.callTooShort"));
    }
    let mut hosts = wanted.allowed_hosts.iter().flatten();
    if let Some(bad) = hosts.find(|host| !AllowedHosts::is_valid(host.trim())) {
        return refuse(message!("error.app.badHost", host = bad));
    }
    if wanted.allowed_hosts.as_ref().is_some_and(|hosts| hosts.len() > MAX_ALLOWED_HOSTS) {
        return refuse(message!("error.app.tooManyHosts", most = MAX_ALLOWED_HOSTS.to_string()));
    }
    let sources = wanted.packages.iter().flat_map(|sources| [&sources.npm, &sources.pypi]);
    for source in sources {
        if let PackageSource::Custom { url } = source
            && !is_registry_address(url)
        {
            return refuse(message!("error.app.badRegistry", url = url));
        }
    }
    Ok(())
}

fn describe(set: &Settings) -> Message {
    let audit = match set.audit_days {
        Some(days) => message!("audit.settings.days", days = days),
        None => message!("audit.settings.forever"),
    };
    let limit = |secs: Option<u32>| match secs {
        Some(secs) => message!("audit.settings.seconds", seconds = secs),
        None => message!("audit.settings.noLimit"),
    };
    let names = match set.tool_names {
        ToolNaming::OnConflict => message!("audit.settings.names.onConflict"),
        ToolNaming::Server => message!("audit.settings.names.server"),
        ToolNaming::McpServer => message!("audit.settings.names.mcpServer"),
    };
    let hosts = match set.allowed_hosts.as_slice() {
        [] => MessageParam::from(message!("audit.settings.noHosts")),
        hosts => MessageParam::from(hosts.join(", ")),
    };
    message!(
        "audit.settings.set",
        audit = audit,
        days = set.activity_days,
        calls = set.activity_calls,
        silent = limit(set.calls.silent_secs),
        cap = limit(set.calls.cap_secs),
        names = names,
        hosts = hosts,
        registry = &set.registry,
    )
}
