//! `audit …`: shows, verifies and exports the audit log.

use std::collections::HashMap;

use gatehouse_model::command::{
    AuditAcknowledge, AuditExport, AuditLatest, AuditList, AuditVerify, ClientsList, ExportFormat,
    ServersList,
};
use gatehouse_model::record::{
    AuditEvent, AuditVerdict, ModelProviderChange, ServerRequestAnswer, ServerRequestKind, SignInOutcome,
};
use gatehouse_model::{AuditEntryView, message};

use crate::cli::{AuditVerb, ExportFormatArg};
use crate::error::CliError;
use crate::labels::{class_word, subject};
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

/// Default number of entries shown.
const DEFAULT_LIMIT: u32 = 30;

pub(crate) async fn run(
    verb: Option<AuditVerb>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        None => {
            let mut entries = session.run(&AuditLatest { before: None, limit: Some(DEFAULT_LIMIT) }).await?;
            entries.reverse();
            show(&entries, session, output).await
        }
        Some(AuditVerb::List { limit, after }) => {
            let entries = session.run(&AuditList { after, limit: Some(limit) }).await?;
            show(&entries, session, output).await
        }
        Some(AuditVerb::Verify) => {
            let verdict = session.run(&AuditVerify { run: None }).await?;
            output.show(&verdict, |verdict| {
                vec![terminal_text::message(&match verdict {
                    AuditVerdict::Whole { entries } => {
                        let count = u32::try_from(*entries).unwrap_or(u32::MAX);
                        message!("ctl.audit.whole", count = count)
                    }
                    AuditVerdict::Broken { seq, reason } => {
                        message!("ctl.audit.broken", number = seq.to_string(), reason = reason.clone())
                    }
                })]
            })?;
            match verdict {
                AuditVerdict::Whole { .. } => Ok(()),
                AuditVerdict::Broken { .. } => Err(CliError::Audit),
            }
        }
        Some(AuditVerb::Acknowledge) => {
            session.run(&AuditAcknowledge {}).await?;
            output.done(&message!("ctl.audit.acknowledged"))
        }
        Some(AuditVerb::Export { format }) => {
            let format = match format {
                ExportFormatArg::JsonLines => ExportFormat::JsonLines,
                ExportFormatArg::Csv => ExportFormat::Csv,
            };
            let exported = session.run(&AuditExport { format, run: None }).await?;
            output.text(&exported.text)
        }
    }
}

async fn show(
    entries: &Vec<AuditEntryView>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(entries);
    }
    let names = AuditNames::load(entries, session).await?;
    list(entries, &names).iter().try_for_each(|line| output.line(line))
}

/// Names of servers and clients by id: the current ones, or else those at their last change.
struct AuditNames(HashMap<String, String>);

impl AuditNames {
    async fn load(entries: &[AuditEntryView], session: &mut ControlSession) -> Result<Self, CliError> {
        let mut names = HashMap::new();
        for entry in entries {
            match &entry.event {
                AuditEvent::ServerChanged { server, name, .. } => {
                    names.insert(server.to_string(), name.clone())
                }
                AuditEvent::ClientChanged { client, name, .. } => {
                    names.insert(client.to_string(), name.clone())
                }
                _ => None,
            };
        }
        let servers = session.run(&ServersList {}).await?;
        names.extend(servers.into_iter().map(|view| (view.config.id.to_string(), view.config.name)));
        let clients = session.run(&ClientsList {}).await?;
        names.extend(clients.into_iter().map(|view| (view.id.to_string(), view.name)));
        Ok(Self(names))
    }

    fn of<'a>(&'a self, id: &'a str) -> &'a str {
        self.0.get(id).map_or(id, String::as_str)
    }
}

fn list(entries: &[AuditEntryView], names: &AuditNames) -> Vec<String> {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                entry.seq.to_string(),
                terminal_text::time(entry.at),
                terminal_text::truncate(&describe_event(entry, names), 160),
            ]
        })
        .collect();
    table(
        &[message!("ctl.column.number"), message!("ctl.column.when"), message!("ctl.column.what")],
        &rows,
        &message!("ctl.audit.none"),
    )
}

fn describe_event(entry: &AuditEntryView, names: &AuditNames) -> String {
    let said =
        entry.rule.as_ref().map(|rule| format!(": {}", terminal_text::message(rule))).unwrap_or_default();
    match &entry.event {
        AuditEvent::Decided { client, server, subject: about, allowed, reason, by, .. } => {
            let word = if *allowed { "allowed" } else { "denied" };
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let (server, client) = (names.of(server.as_str()), names.of(client.as_str()));
            let by = by.as_ref().map(|by| format!(" by the {by}")).unwrap_or_default();
            format!("{word}{by} {} of {server} for {client}{reason}", subject(about))
        }
        AuditEvent::Lapsed { ask, .. } => format!("approval request {ask} ended without an answer"),
        AuditEvent::Granted { rule } => {
            let note = entry.note.as_ref().map(|note| format!(" ({})", terminal_text::message(note)));
            format!("rule {}{}{said}", rule.id, note.unwrap_or_default())
        }
        AuditEvent::Revoked { rule } => format!("rule {rule} revoked{said}"),
        AuditEvent::GrantBound { rule, program: Some(program) } => {
            format!("rule {rule} now bound to one program{said}; the program: {program}")
        }
        AuditEvent::GrantBound { rule, program: None } => {
            format!("rule {rule} asks on first use again{said}")
        }
        AuditEvent::AutoApproveSet { server, client, to } => {
            let to = match to {
                gatehouse_model::approval::AutoApprove::Ask => "nothing",
                gatehouse_model::approval::AutoApprove::Reads => "reads",
                gatehouse_model::approval::AutoApprove::Writes => "writes",
                gatehouse_model::approval::AutoApprove::All => "everything",
            };
            let client = client.as_ref().map(|client| format!(" for {}", names.of(client.as_str())));
            let client = client.unwrap_or_default();
            format!("runs without asking on {}{client}: {to}", names.of(server.as_str()))
        }
        AuditEvent::ClassSet { server, tool, now } => match now {
            Some(set) => {
                let class = class_word(set.class);
                format!("{tool} of {} counts as {class}", names.of(server.as_str()))
            }
            None => format!("{tool} of {} counts as Gatehouse sees it", names.of(server.as_str())),
        },
        AuditEvent::LabelsTrusted { server, trusted, by } => {
            let word = if *trusted { "are trusted" } else { "are trusted no longer" };
            let by = by.as_ref().map(|by| format!(", said the {by}")).unwrap_or_default();
            format!("the labels of {} {word}{by}", names.of(server.as_str()))
        }
        AuditEvent::ServerChanged { server, name, what } => format!("server {name} ({server}) {what}"),
        AuditEvent::SettingsChanged { what } => format!("settings: {}", terminal_text::user_text(what)),
        AuditEvent::HandEdit { file, server, confirmed } => {
            let word = if *confirmed { "confirmed" } else { "refused" };
            format!("edit of {file} by hand, about {server}: {word}")
        }
        AuditEvent::ClientChanged { client, name, what } => format!("client {name} ({client}) {what}"),
        AuditEvent::ProfileChanged { profile, name, now: Some(_) } => {
            format!("profile {name} ({profile}) set")
        }
        AuditEvent::ProfileChanged { profile, name, now: None } => {
            format!("profile {name} ({profile}) removed")
        }
        AuditEvent::ProfileAssigned { client, profile } => {
            let client = names.of(client.as_str());
            match profile {
                Some(profile) => format!("client {client} has the profile {profile}"),
                None => format!("client {client} has no profile"),
            }
        }
        AuditEvent::SignIn { server, what, account, reason, .. } => {
            let server = names.of(server.as_str());
            let account = account.as_ref().map(|account| format!(" as {account}")).unwrap_or_default();
            match what {
                SignInOutcome::SignedIn => format!("signed in to {server}{account}"),
                SignInOutcome::Failed => match reason {
                    Some(reason) => {
                        format!("signing in to {server} failed ({})", reason.as_str())
                    }
                    None => format!("signing in to {server} failed"),
                },
                SignInOutcome::SignedOut => format!("signed out of {server}{account}"),
                SignInOutcome::TokensRevoked => format!("tokens for {server} revoked{account}"),
                SignInOutcome::Expired => format!("sign-in to {server} no longer valid{account}"),
            }
        }
        AuditEvent::ServerRequestAnswered { request, server, client, answer, by, .. } => {
            let request = match request {
                ServerRequestKind::Form => "form",
                ServerRequestKind::Url => "page to open",
                ServerRequestKind::Sampling => "request for a model's answer",
                ServerRequestKind::StepUp => "request for more scopes",
            };
            let answer = answer_word(*answer);
            let client = client.as_ref().map(|client| format!(" for {}", names.of(client.as_str())));
            let by = by.as_ref().map(|by| format!(" by the {by}")).unwrap_or_default();
            let (server, client) = (names.of(server.as_str()), client.unwrap_or_default());
            format!("{request} of {server}{client}: {answer}{by}")
        }
        AuditEvent::ClientAccessAnswered { name, answer, by, .. } => {
            let by = by.as_ref().map(|by| format!(" by the {by}")).unwrap_or_default();
            format!("request of the client {name} for access: {}{by}", answer_word(*answer))
        }
        AuditEvent::CommandAnswered { command, what, program, answer, by, .. } => {
            let by = by.as_ref().map(|by| format!(" by the {by}")).unwrap_or_default();
            let program = program.as_ref().map(|program| format!(" of {program}")).unwrap_or_default();
            let what = terminal_text::message(what);
            format!("command {command}{program}: {}{by}: {what}", answer_word(*answer))
        }
        AuditEvent::ModelProviderChanged { provider, name, base_url, change, has_key } => {
            let change = match change {
                ModelProviderChange::Added => "added",
                ModelProviderChange::Edited => "edited",
                ModelProviderChange::Removed => "removed",
            };
            let key = if *has_key { ", with a key" } else { "" };
            format!("model provider {name} ({provider}) at {base_url} {change}{key}")
        }
        AuditEvent::ModelsAssigned { sampling, opinion } => {
            let [sampling, opinion] = [sampling, opinion].map(|model| model.as_deref().unwrap_or("no model"));
            format!("sampling requests may be answered by {sampling}, opinions come from {opinion}")
        }
        AuditEvent::SamplingGenerated { ask, server, model } => {
            format!("{model} wrote an answer to request {ask} of {}", names.of(server.as_str()))
        }
        AuditEvent::Paused { paused: true } => "everything paused".to_owned(),
        AuditEvent::Paused { paused: false } => "resumed".to_owned(),
        AuditEvent::PermissionsRejected { reason } => {
            format!("the stored permissions were rejected: {reason}")
        }
        AuditEvent::Lifecycle { what } => format!("Gatehouse {what}"),
    }
}

fn answer_word(answer: ServerRequestAnswer) -> &'static str {
    match answer {
        ServerRequestAnswer::Accepted => "accepted",
        ServerRequestAnswer::Declined => "declined",
        ServerRequestAnswer::Cancelled => "closed without an answer",
        ServerRequestAnswer::Unanswered => "not answered",
    }
}
