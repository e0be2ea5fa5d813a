//! Work that blocks on the disk, away from the threads that serve requests.

use gatehouse_model::{ErrorCode, UserError, message};

/// Runs a closure that blocks on a thread of its own.
///
/// # Errors
/// When it panicked, or Gatehouse is stopping.
pub(crate) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, UserError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.app.diskWorkEnded"))
            .with_cause(format!("{error}."))
    })
}
