//! The audit for parts that do not know the store's own type. Never reads it.

use std::sync::Arc;

use gatehouse_model::{AuditEvent, AuditLog, BoxFuture, ErrorCode, Problem};
use gatehouse_store::Store;

/// Appends entries to the store's audit, off the executor.
pub(crate) struct StoreAudit(pub(crate) Arc<Store>);

impl AuditLog for StoreAudit {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Problem>> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || store.audit().append(event)).await {
                Ok(written) => written.map(drop).map_err(Problem::from),
                Err(_) => Err(Problem::new(ErrorCode::Storage, "The audit could not be written.")),
            }
        })
    }
}
