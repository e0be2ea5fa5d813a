//! The audit: looking at it, checking it, taking it out. Nothing here writes to it.

use std::sync::Arc;

use gatehouse_model::command::{AuditList, ExportFormat, Exported};
use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{AuditEntry, Problem};
use gatehouse_store::AuditFormat;

use super::Parts;

/// Entries of a list where nothing else is said.
const USUAL: u32 = 1000;

pub(super) async fn list(parts: &Arc<Parts>, wanted: &AuditList) -> Result<Vec<AuditEntry>, Problem> {
    let (after, limit) = (wanted.after, wanted.limit.unwrap_or(USUAL));
    parts.on_store(move |store| store.audit().list(after, limit)).await
}

pub(super) async fn verify(parts: &Arc<Parts>) -> Result<AuditVerdict, Problem> {
    parts.on_store(|store| store.audit().verify()).await
}

pub(super) async fn export(parts: &Arc<Parts>, format: ExportFormat) -> Result<Exported, Problem> {
    let format = match format {
        ExportFormat::JsonLines => AuditFormat::JsonLines,
        ExportFormat::Csv => AuditFormat::Csv,
    };
    let text = parts.on_store(move |store| store.audit().export(format)).await?;
    Ok(Exported { text })
}
