//! The settings as commands: showing and changing them, and the switch for MCP as a whole. Settings are
//! written before they take effect, except when something is stopped.

use std::sync::Arc;

use gatehouse_model::command::{Authority, SettingsSet};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::settings::{AUDIT_DAYS_LEAST, PackageSource};
use gatehouse_model::{ErrorCode, Event, EventSink as _, Problem, Settings, ToolNaming};

use super::Parts;
use crate::settings::{Held, retain, save};

pub(super) async fn show(parts: &Arc<Parts>) -> Result<Settings, Problem> {
    Ok(parts.settings.lock().await.settings.clone())
}

/// What is wrong with the stored settings.
pub(super) async fn problem(parts: &Arc<Parts>) -> Option<Problem> {
    parts.settings.lock().await.problem.clone()
}

pub(super) async fn set(parts: &Arc<Parts>, wanted: &SettingsSet) -> Result<Settings, Problem> {
    check(wanted)?;
    let mut held = parts.settings.lock().await;
    let set = Settings {
        audit_days: wanted.audit_days,
        activity_days: wanted.activity_days,
        activity_calls: wanted.activity_calls,
        mcp_on: held.settings.mcp_on,
        packages: wanted.packages.clone().unwrap_or_else(|| held.settings.packages.clone()),
        client_document: match wanted.client_document.as_deref().map(str::trim) {
            None => held.settings.client_document.clone(),
            Some("") => None,
            Some(address) => Some(address.to_owned()),
        },
        calls: wanted.calls.unwrap_or(held.settings.calls),
        tool_names: wanted.tool_names.unwrap_or(held.settings.tool_names),
    };
    if held.problem.is_none() && held.settings == set {
        return Ok(set);
    }
    let what = in_words(&set);
    keep(parts, &mut held, Change { set: set.clone(), what, by: Authority::Operator }).await?;
    parts.servers.set_packages(&set.packages);
    parts.sign_ins.set_client_document(set.client_document.clone());
    parts.servers.set_call_limits(set.calls);
    parts.tools.set_naming(set.tool_names).await;
    parts.config_changed(ConfigCause::Settings, None);
    retain(parts, &held).await?;
    Ok(set)
}

pub(super) async fn switch_on(parts: &Arc<Parts>) -> Result<(), Problem> {
    let mut held = parts.settings.lock().await;
    if !held.settings.mcp_on || held.problem.is_some() {
        let set = Settings { mcp_on: true, ..held.settings.clone() };
        let what = "MCP switched on".to_owned();
        keep(parts, &mut held, Change { set, what, by: Authority::Operator }).await?;
    }
    if !parts.servers.is_on() {
        parts.servers.set_on(true).await;
        parts.bus.emit(Event::SwitchChanged { on: true });
    }
    Ok(())
}

/// MCP is off when this returns, even with an error: an error means that a restart would switch it on
/// again.
pub(super) async fn switch_off(parts: &Arc<Parts>) -> Result<(), Problem> {
    let mut held = parts.settings.lock().await;
    if parts.servers.is_on() {
        // The switch comes first, so that calls that end because of it can report the reason.
        tokio::join!(biased; parts.servers.set_on(false), async { parts.tools.switched_off() });
        parts.bus.emit(Event::SwitchChanged { on: false });
    }
    // Settings that failed verification keep MCP off already, and must not be replaced without the
    // operator's authority.
    if held.settings.mcp_on && held.problem.is_none() {
        let set = Settings { mcp_on: false, ..held.settings.clone() };
        let what = "MCP switched off".to_owned();
        keep(parts, &mut held, Change { set, what, by: Authority::Anyone }).await?;
    }
    Ok(())
}

/// New settings, their text in the audit log, and the authority of the caller.
struct Change {
    set: Settings,
    what: String,
    by: Authority,
}

/// Writes settings and puts them in force.
async fn keep(parts: &Arc<Parts>, held: &mut Held, change: Change) -> Result<(), Problem> {
    let Change { set, what, by } = change;
    parts.audit(AuditEvent::SettingsChanged { what }).await?;
    let sealed = set.clone();
    parts.on_store(move |store| save(store, &sealed, by)).await?;
    *held = Held::believed(set);
    Ok(())
}

fn check(wanted: &SettingsSet) -> Result<(), Problem> {
    let refuse = |what: String| Err(Problem::new(ErrorCode::BadRequest, what));
    if wanted.audit_days.is_some_and(|days| days < AUDIT_DAYS_LEAST) {
        return refuse(format!("The audit is kept for at least {AUDIT_DAYS_LEAST} days."));
    }
    if wanted.activity_days == 0 || wanted.activity_calls == 0 {
        return refuse("Calls are kept for at least one day, and at least one of them.".to_owned());
    }
    let calls = wanted.calls.iter().flat_map(|calls| [calls.silent_secs, calls.cap_secs]);
    if calls.flatten().any(|secs| secs == 0) {
        return refuse("A call may take at least one second.".to_owned());
    }
    let sources = wanted.packages.iter().flat_map(|sources| [&sources.npm, &sources.pypi]);
    for source in sources {
        if let PackageSource::Custom { url } = source
            && !(url.starts_with("https://") || url.starts_with("http://"))
        {
            return refuse(format!("“{url}” is not the address of a package registry."));
        }
    }
    Ok(())
}

fn in_words(set: &Settings) -> String {
    let audit = set.audit_days.map_or("for ever".to_owned(), |days| format!("for {days} days"));
    let limit = |secs: Option<u32>| secs.map_or("no limit".to_owned(), |secs| format!("{secs} s"));
    let names = match set.tool_names {
        ToolNaming::OnConflict => "by itself",
        ToolNaming::Server => "as server__tool",
        ToolNaming::McpServer => "as mcp__server__tool",
    };
    format!(
        "the audit is kept {audit}, calls for {} days and {} at most; a call may take {} without progress, {} in all; a tool is named {names}",
        set.activity_days,
        set.activity_calls,
        limit(set.calls.silent_secs),
        limit(set.calls.cap_secs)
    )
}
