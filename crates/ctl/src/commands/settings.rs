//! `settings …`: retention, time limits of calls, naming of tools, and further host names of the gateway.

use gatehouse_model::command::{SettingsSet, SettingsShow};
use gatehouse_model::{CallLimits, Message, Settings, ToolNaming, message};

use crate::cli::{AuditDays, Seconds, SettingsVerb};
use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: SettingsVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        SettingsVerb::Show => {
            let settings = session.run(&SettingsShow {}).await?;
            output.show(&settings, describe)
        }
        SettingsVerb::Set {
            audit_days,
            activity_days,
            activity_calls,
            client_document,
            call_limit,
            call_cap,
            tool_names,
            allowed_hosts,
            registry,
        } => {
            let nothing = audit_days.is_none()
                && activity_days.is_none()
                && activity_calls.is_none()
                && client_document.is_none()
                && call_limit.is_none()
                && call_cap.is_none()
                && tool_names.is_none()
                && allowed_hosts.is_none()
                && registry.is_none();
            if nothing {
                return Err(CliError::usage(message!("error.ctl.noSetting")));
            }
            let now = session.run(&SettingsShow {}).await?;
            let set = SettingsSet {
                audit_days: match audit_days {
                    Some(AuditDays::Days(days)) => Some(days),
                    Some(AuditDays::Forever) => None,
                    None => now.audit_days,
                },
                activity_days: activity_days.unwrap_or(now.activity_days),
                activity_calls: activity_calls.unwrap_or(now.activity_calls),
                packages: None,
                client_document: client_document
                    .map(|address| if address == "none" { String::new() } else { address }),
                calls: Some(CallLimits {
                    silent_secs: call_limit.map_or(now.calls.silent_secs, |Seconds(secs)| secs),
                    cap_secs: call_cap.map_or(now.calls.cap_secs, |Seconds(secs)| secs),
                }),
                tool_names: tool_names.map(ToolNaming::from),
                allowed_hosts: allowed_hosts
                    .map(|hosts| if hosts.iter().all(|host| host == "none") { Vec::new() } else { hosts }),
                registry: registry.map(|address| if address == "official" { String::new() } else { address }),
            };
            let settings = session.run(&set).await?;
            output.show(&settings, describe)
        }
    }
}

fn seconds(limit: Option<u32>) -> Message {
    match limit {
        Some(secs) => message!("ctl.settings.seconds", seconds = secs),
        None => message!("ctl.settings.unlimited"),
    }
}

fn describe(settings: &Settings) -> Vec<String> {
    let facts = [
        match settings.audit_days {
            Some(days) => message!("ctl.settings.auditDays", days = days),
            None => message!("ctl.settings.auditForever"),
        },
        message!("ctl.settings.calls", days = settings.activity_days, calls = settings.activity_calls),
        message!(
            "ctl.settings.call",
            silent = seconds(settings.calls.silent_secs),
            total = seconds(settings.calls.cap_secs),
        ),
        match settings.tool_names {
            ToolNaming::OnConflict => message!("ctl.settings.toolsOnConflict"),
            ToolNaming::Server => message!("ctl.settings.toolsServer"),
            ToolNaming::McpServer => message!("ctl.settings.toolsMcpServer"),
        },
        match &settings.client_document {
            Some(address) => message!("ctl.settings.clientDocument", address = address),
            None => message!("ctl.settings.clientDocument", address = message!("ctl.settings.none")),
        },
        match settings.allowed_hosts.as_slice() {
            [] => message!("ctl.settings.allowedHosts", hosts = message!("ctl.settings.none")),
            hosts => message!("ctl.settings.allowedHosts", hosts = hosts.join(", ")),
        },
        message!("ctl.settings.registry", address = &settings.registry),
        if settings.mcp_on { message!("ctl.settings.mcpOn") } else { message!("ctl.settings.mcpOff") },
    ];
    facts.iter().map(terminal_text::message).collect()
}
