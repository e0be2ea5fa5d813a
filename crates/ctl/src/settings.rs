//! `settings …`: how long things are kept.

use gatehouse_model::Settings;
use gatehouse_model::command::{SettingsSet, SettingsShow};

use crate::cli::{AuditDays, SettingsVerb};
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;

pub(crate) async fn run(verb: SettingsVerb, session: &mut Session, output: &Output) -> Result<(), Failure> {
    match verb {
        SettingsVerb::Show => {
            let settings = session.run(&SettingsShow {}).await?;
            output.show(&settings, words)
        }
        SettingsVerb::Set { audit_days, activity_days, activity_calls, client_document } => {
            let nothing = audit_days.is_none()
                && activity_days.is_none()
                && activity_calls.is_none()
                && client_document.is_none();
            if nothing {
                return Err(Failure::Usage(
                    "Say what to set: --audit-days, --activity-days, --activity-calls or --client-document."
                        .into(),
                ));
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
            };
            let settings = session.run(&set).await?;
            output.show(&settings, words)
        }
    }
}

fn words(settings: &Settings) -> Vec<String> {
    let audit = settings.audit_days.map_or("for ever".to_owned(), |days| format!("for {days} days"));
    vec![
        format!("Audit  kept {audit}"),
        format!("Calls  kept for {} days, {} at most", settings.activity_days, settings.activity_calls),
        format!("Client document  {}", settings.client_document.as_deref().unwrap_or("none")),
        format!("MCP    {}", if settings.mcp_on { "on" } else { "off" }),
    ]
}
