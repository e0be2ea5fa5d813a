//! Adapts the store's audit log to the [`AuditLog`] trait for crates that do not depend on the store's
//! type. Write only.

use std::sync::Arc;

use gatehouse_model::{AuditEvent, AuditLog, BoxFuture, ErrorCode, UserError, message};
use gatehouse_store::Store;

/// Appends entries to the store's audit log on a blocking thread.
pub(crate) struct StoreAudit(pub(crate) Arc<Store>);

impl AuditLog for StoreAudit {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), UserError>> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            match tokio::task::spawn_blocking(move || store.audit().append(event)).await {
                Ok(written) => written.map(drop).map_err(UserError::from),
                Err(_) => Err(UserError::new(ErrorCode::Storage, message!("error.app.auditUnwritten"))),
            }
        })
    }
}
