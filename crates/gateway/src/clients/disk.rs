//! Work that blocks on the disk or the secret store, off the runtime's own threads.

use gatehouse_model::{ErrorCode, UserError, message};

/// Runs blocking work to its end, even if the caller goes away.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UserError> + Send + 'static,
) -> Result<T, UserError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(UserError::new(ErrorCode::Internal, message!("error.gateway.clientsUnwritten"))
            .with_cause(format!("{error}.")))
    })
}
