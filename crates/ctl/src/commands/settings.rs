//! `settings …`: retention, time limits of calls, and naming of tools.

use gatehouse_model::command::{SettingsSet, SettingsShow};
use gatehouse_model::{CallLimits, Settings, ToolNaming, message};

use crate::cli::{AuditDays, Seconds, SettingsVerb, ToolNamingArg};
use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;

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
        } => {
            let nothing = audit_days.is_none()
                && activity_days.is_none()
                && activity_calls.is_none()
                && client_document.is_none()
                && call_limit.is_none()
                && call_cap.is_none()
                && tool_names.is_none();
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
                tool_names: tool_names.map(|word| match word {
                    ToolNamingArg::OnConflict => ToolNaming::OnConflict,
                    ToolNamingArg::Server => ToolNaming::Server,
                    ToolNamingArg::McpServer => ToolNaming::McpServer,
                }),
            };
            let settings = session.run(&set).await?;
            output.show(&settings, describe)
        }
    }
}

fn seconds(limit: Option<u32>) -> String {
    limit.map_or("as long as it wants".to_owned(), |secs| format!("{secs} s"))
}

fn describe(settings: &Settings) -> Vec<String> {
    let audit = settings.audit_days.map_or("for ever".to_owned(), |days| format!("for {days} days"));
    vec![
        format!("Audit  kept {audit}"),
        format!("Calls  kept for {} days, {} at most", settings.activity_days, settings.activity_calls),
        format!(
            "A call  may take {} without progress, {} in all",
            seconds(settings.calls.silent_secs),
            seconds(settings.calls.cap_secs)
        ),
        format!(
            "Tools  {}",
            match settings.tool_names {
                ToolNaming::OnConflict =>
                    "have their own names; the server stands in front where a name is taken",
                ToolNaming::Server => "are named server__tool",
                ToolNaming::McpServer => "are named mcp__server__tool",
            }
        ),
        format!("Client document  {}", settings.client_document.as_deref().unwrap_or("none")),
        format!("MCP    {}", if settings.mcp_on { "on" } else { "off" }),
    ]
}
