//! `audit …`: what was decided and changed.

use gatehouse_model::AuditEntry;
use gatehouse_model::command::{AuditExport, AuditList, AuditVerify, ExportFormat};
use gatehouse_model::record::{AuditEvent, AuditVerdict};

use crate::cli::{AuditVerb, FormatWord};
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::plain;
use crate::session::Session;
use crate::watch::subject;

/// Entries that are shown where nothing else is said.
const LAST: usize = 30;

pub(crate) async fn run(
    verb: Option<AuditVerb>,
    session: &mut Session,
    output: &Output,
) -> Result<(), Failure> {
    match verb {
        None => {
            let mut entries = all(session).await?;
            let older = entries.len().saturating_sub(LAST);
            entries.drain(..older);
            output.show(&entries, |entries| list(entries))
        }
        Some(AuditVerb::List { limit, after }) => {
            let entries = session.run(&AuditList { after, limit: Some(limit) }).await?;
            output.show(&entries, |entries| list(entries))
        }
        Some(AuditVerb::Verify) => {
            let verdict = session.run(&AuditVerify {}).await?;
            output.show(&verdict, |verdict| {
                vec![match verdict {
                    AuditVerdict::Whole { entries } => format!("The audit is whole: {entries} entries."),
                    AuditVerdict::Broken { seq, reason } => {
                        format!("The audit is broken at entry {seq}: {}", plain::line(reason))
                    }
                }]
            })?;
            match verdict {
                AuditVerdict::Whole { .. } => Ok(()),
                AuditVerdict::Broken { .. } => Err(Failure::Audit),
            }
        }
        Some(AuditVerb::Export { format }) => {
            let format = match format {
                FormatWord::JsonLines => ExportFormat::JsonLines,
                FormatWord::Csv => ExportFormat::Csv,
            };
            let exported = session.run(&AuditExport { format }).await?;
            output.text(&exported.text)
        }
    }
}

async fn all(session: &mut Session) -> Result<Vec<AuditEntry>, Failure> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let after = entries.last().map(|entry| entry.seq);
        let page = session.run(&AuditList { after, limit: None }).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page);
        let older = entries.len().saturating_sub(LAST);
        entries.drain(..older);
    }
}

fn list(entries: &[AuditEntry]) -> Vec<String> {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![entry.seq.to_string(), plain::time(entry.at), plain::cut(&sentence(&entry.event), 160)]
        })
        .collect();
    table(&["NO", "WHEN", "WHAT"], &rows, "The audit is empty.")
}

fn sentence(event: &AuditEvent) -> String {
    match event {
        AuditEvent::Decided { client, server, subject: about, allowed, reason, .. } => {
            let word = if *allowed { "allowed" } else { "denied" };
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{word} {} of {server} for {client}{reason}", subject(about))
        }
        AuditEvent::Lapsed { ask, .. } => format!("question {ask} ended without an answer"),
        AuditEvent::Granted { rule } => {
            let word = match rule.effect {
                gatehouse_model::Effect::Allow => "allow",
                gatehouse_model::Effect::Deny => "deny",
            };
            let server = rule.server.as_ref().map_or("every server".to_owned(), |at| at.server.to_string());
            let width = match &rule.width {
                gatehouse_model::Width::Call { .. } => "one call".to_owned(),
                gatehouse_model::Width::Tool { tool } => tool.clone(),
                gatehouse_model::Width::Reads => "all reads".to_owned(),
                gatehouse_model::Width::Writes => "all writes".to_owned(),
                gatehouse_model::Width::Everything => "everything".to_owned(),
            };
            format!("rule {}: {word} {width} of {server}", rule.id)
        }
        AuditEvent::Revoked { rule } => format!("rule {rule} taken back"),
        AuditEvent::AutoApproveSet { server, to } => {
            let to = match to {
                gatehouse_model::ask::AutoApprove::Ask => "nothing",
                gatehouse_model::ask::AutoApprove::Reads => "reads",
                gatehouse_model::ask::AutoApprove::Writes => "writes",
                gatehouse_model::ask::AutoApprove::All => "everything",
            };
            format!("{to} of {server} runs without asking")
        }
        AuditEvent::ClassSet { server, tool, now } => match now {
            Some(set) => format!("{tool} of {server} counts as {}", crate::tools::class_word(set.class)),
            None => format!("{tool} of {server} counts as Gatehouse sees it"),
        },
        AuditEvent::LabelsTrusted { server, trusted } => {
            let word = if *trusted { "are trusted" } else { "are trusted no longer" };
            format!("the labels of {server} {word}")
        }
        AuditEvent::ServerChanged { server, name, what } => format!("server {name} ({server}) {what}"),
        AuditEvent::HandEdit { file, server, confirmed } => {
            let word = if *confirmed { "confirmed" } else { "refused" };
            format!("edit of {file} by hand, about {server}: {word}")
        }
        AuditEvent::ClientChanged { client, name, what } => format!("client {name} ({client}) {what}"),
        AuditEvent::SignIn { server, what } => format!("sign-in to {server}: {what}"),
        AuditEvent::Paused { paused: true } => "everything paused".to_owned(),
        AuditEvent::Paused { paused: false } => "resumed".to_owned(),
        AuditEvent::RightsRejected { reason } => format!("the stored rights were rejected: {reason}"),
        AuditEvent::Lifecycle { what } => format!("Gatehouse {what}"),
    }
}
