//! The audit: looking at it, checking it, taking it out. Nothing here writes an entry.

use std::sync::Arc;

use gatehouse_model::command::{AuditLatest, AuditList, ExportFormat, Exported};
use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{AuditEntry, ErrorCode, Problem};
use gatehouse_store::AuditFormat;

use super::Parts;

/// Entries of a list where nothing else is said.
const USUAL: u32 = 1000;

pub(super) async fn list(parts: &Arc<Parts>, wanted: &AuditList) -> Result<Vec<AuditEntry>, Problem> {
    let (after, limit) = (wanted.after, wanted.limit.unwrap_or(USUAL));
    parts.on_store(move |store| store.audit().list(after, limit)).await
}

pub(super) async fn latest(parts: &Arc<Parts>, wanted: &AuditLatest) -> Result<Vec<AuditEntry>, Problem> {
    let (before, limit) = (wanted.before, wanted.limit.unwrap_or(USUAL));
    parts.on_store(move |store| store.audit().latest(before, limit)).await
}

pub(super) async fn verify(parts: &Arc<Parts>) -> Result<AuditVerdict, Problem> {
    let _alone = parts.reading_audit.lock().await;
    parts.on_store(|store| store.audit().verify()).await
}

pub(super) async fn acknowledge(parts: &Arc<Parts>) -> Result<(), Problem> {
    parts.on_store(|store| store.audit().acknowledge()).await
}

/// What is wrong with the audit, as far as it was found without a check of the whole.
pub(super) async fn problem(parts: &Arc<Parts>) -> Option<Problem> {
    match parts.on_store(|store| Ok(store.audit().lost())).await {
        Ok(lost) => lost.map(|seq| {
            Problem::new(ErrorCode::Storage, format!("Entries of the audit are missing from number {seq} on."))
                .why("Its end was cut off, or an older copy of it was put back.")
                .todo("Check it with `gatehousectl audit verify`; `gatehousectl audit acknowledge` ends this notice.")
        }),
        Err(problem) => Some(problem),
    }
}

pub(super) async fn export(parts: &Arc<Parts>, format: ExportFormat) -> Result<Exported, Problem> {
    let format = match format {
        ExportFormat::JsonLines => AuditFormat::JsonLines,
        ExportFormat::Csv => AuditFormat::Csv,
    };
    let _alone = parts.reading_audit.lock().await;
    let text = parts.on_store(move |store| store.audit().export(format)).await?;
    Ok(Exported { text })
}
