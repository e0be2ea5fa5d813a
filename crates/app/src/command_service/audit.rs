//! Commands on the audit log: list, verify, export. Contents of calls are for the operator only.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::command::{
    AuditExport, AuditLatest, AuditList, AuditVerify, Authority, ExportFormat, ExportedText,
};
use gatehouse_model::grant::Grant;
use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{
    AuditEntry, AuditEntryView, AuditEvent, ErrorCode, GrantId, Message, UserError, message,
};
use gatehouse_store::{AuditFormat, Store};
use tokio_util::sync::CancellationToken;

use super::AppState;
use super::named_runs::{NamedRun, cancelled};
use crate::redact;

/// Default number of entries in a list.
const DEFAULT_LIMIT: u32 = 1000;

pub(super) async fn list(
    state: &Arc<AppState>,
    wanted: &AuditList,
    by: Authority,
) -> Result<Vec<AuditEntryView>, UserError> {
    let (after, limit) = (wanted.after, wanted.limit.unwrap_or(DEFAULT_LIMIT));
    let entries = state.with_store(move |store| store.audit().list(after, limit)).await?;
    let former = names_in(entries.iter());
    Ok(views(state, redacted(entries, by), &former))
}

pub(super) async fn latest(
    state: &Arc<AppState>,
    wanted: &AuditLatest,
    by: Authority,
) -> Result<Vec<AuditEntryView>, UserError> {
    let (before, limit) = (wanted.before, wanted.limit.unwrap_or(DEFAULT_LIMIT));
    let entries = state.with_store(move |store| store.audit().latest(before, limit)).await?;
    let former = names_in(entries.iter().rev());
    Ok(views(state, redacted(entries, by), &former))
}

/// The redaction applied to each entry for a caller of this authority.
fn redaction(by: Authority) -> Option<fn(&mut AuditEvent)> {
    if by < Authority::Operator { Some(redact::audit) } else { None }
}

fn redacted(mut entries: Vec<AuditEntry>, by: Authority) -> Vec<AuditEntry> {
    if let Some(redact) = redaction(by) {
        entries.iter_mut().for_each(|entry| redact(&mut entry.event));
    }
    entries
}

/// The last known names of servers and clients by id, as far as these entries say; the oldest entry
/// comes first.
fn names_in<'a>(entries: impl Iterator<Item = &'a AuditEntry>) -> HashMap<String, String> {
    let named = entries.filter_map(|entry| match &entry.event {
        AuditEvent::ServerChanged { server, name, .. } => Some((server.to_string(), name.clone())),
        AuditEvent::ClientChanged { client, name, .. } => Some((client.to_string(), name.clone())),
        _ => None,
    });
    named.collect()
}

/// The entries as listed, with a sentence for each rule that was added, bound or revoked. The sentence contains data of
/// the entry that added it, so the entries must already be redacted for the caller.
fn views(
    state: &AppState,
    entries: Vec<AuditEntry>,
    former: &HashMap<String, String>,
) -> Vec<AuditEntryView> {
    let words = |rule: &Grant| state.tools.permissions().describe(rule, former);
    let added = entries.iter().filter_map(|entry| match &entry.event {
        AuditEvent::Granted { rule } => Some((rule.id.clone(), words(rule).sentence)),
        _ => None,
    });
    let added: HashMap<GrantId, Message> = added.collect();
    let view = |AuditEntry { seq, at, event, hash }: AuditEntry| {
        let (rule, note) = match &event {
            AuditEvent::Granted { rule } => {
                let words = words(rule);
                (Some(words.sentence), words.note)
            }
            AuditEvent::Revoked { rule } | AuditEvent::GrantBound { rule, .. } => {
                (added.get(rule).cloned(), None)
            }
            _ => (None, None),
        };
        AuditEntryView { seq, at, event, hash, rule, note }
    };
    entries.into_iter().map(view).collect()
}

pub(super) async fn verify(
    state: &Arc<AppState>,
    wanted: &AuditVerify,
    gone: &CancellationToken,
) -> Result<AuditVerdict, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let _reading = named.unless_cancelled(async { Ok(state.reading_audit.lock().await) }).await?;
    let cancel = named.cancel.clone();
    let verdict = state.with_store(move |store| store.audit().verify(&|| cancel.is_cancelled())).await?;
    verdict.ok_or_else(cancelled)
}

pub(super) async fn acknowledge(state: &Arc<AppState>) -> Result<(), UserError> {
    state.with_store(|store| store.audit().acknowledge()).await
}

/// A problem of the audit log that is known without a full verification.
pub(super) async fn problem(state: &Arc<AppState>) -> Option<UserError> {
    match state.with_store(|store| Ok(store.audit().first_missing())).await {
        Ok(first_missing) => first_missing.map(|seq| {
            UserError::new(ErrorCode::Storage, message!("error.app.auditGap", number = seq.to_string()))
                .with_cause(message!("error.app.auditGapCause"))
                .with_hint(message!("error.app.auditGapHint"))
        }),
        Err(problem) => Some(problem),
    }
}

pub(super) async fn export(
    state: &Arc<AppState>,
    wanted: &AuditExport,
    by: Authority,
    gone: &CancellationToken,
) -> Result<ExportedText, UserError> {
    let format = match wanted.format {
        ExportFormat::JsonLines => AuditFormat::JsonLines,
        ExportFormat::Csv => AuditFormat::Csv,
    };
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let _reading = named.unless_cancelled(async { Ok(state.reading_audit.lock().await) }).await?;
    let (redact, cancel) = (redaction(by), named.cancel.clone());
    let export = move |store: &Store| store.audit().export(format, redact, &|| cancel.is_cancelled());
    let text = state.with_store(export).await?.ok_or_else(cancelled)?;
    Ok(ExportedText { text })
}
