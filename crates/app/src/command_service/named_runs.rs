//! Work that the user can cancel: calls, reads, prompts, tests of connections, additions, imports, bundles, requests to the
//! registry, sign-outs, simulations, the verification of the audit, and exports. It is cancelled by the name that it was begun under,
//! and when whoever began it is gone.

use std::collections::hash_map::Entry;
use std::future::Future;

use gatehouse_model::{ErrorCode, UserError, message};
use tokio_util::sync::CancellationToken;

use super::AppState;

/// A run of the user's that can be cancelled until this is dropped.
pub(super) struct NamedRun<'a> {
    state: &'a AppState,
    name: Option<&'a str>,
    pub(super) cancel: CancellationToken,
}

impl<'a> NamedRun<'a> {
    /// `gone` is cancelled when nobody waits for the run any more.
    ///
    /// # Errors
    /// [`ErrorCode::BadRequest`] if a run of this name is under way.
    pub(super) fn begin(
        state: &'a AppState,
        name: Option<&'a str>,
        gone: &CancellationToken,
    ) -> Result<Self, UserError> {
        let cancel = gone.child_token();
        if let Some(name) = name {
            match state.runs.lock().entry(name.to_owned()) {
                Entry::Vacant(place) => drop(place.insert(cancel.clone())),
                Entry::Occupied(_) => {
                    return Err(UserError::new(
                        ErrorCode::BadRequest,
                        message!("error.app.runExists", run = name.to_owned()),
                    ));
                }
            }
        }
        Ok(Self { state, name, cancel })
    }

    /// Does work that ends when it is dropped; a cancelled run drops it.
    ///
    /// # Errors
    /// Those of the work; [`ErrorCode::Cancelled`] if the run is cancelled before the work is done.
    pub(super) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, UserError>>,
    ) -> Result<T, UserError> {
        self.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(cancelled()))
    }

    /// # Errors
    /// [`ErrorCode::Cancelled`] if the run was cancelled.
    pub(super) fn ensure_not_cancelled(&self) -> Result<(), UserError> {
        if self.cancel.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }
}

pub(super) fn cancelled() -> UserError {
    UserError::new(ErrorCode::Cancelled, message!("error.app.runCancelled"))
}

impl Drop for NamedRun<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.state.runs.lock().remove(name);
        }
    }
}

/// Cancels the run that was begun under this name.
pub(super) async fn stop(state: &AppState, run: &str) -> Result<(), UserError> {
    if let Some(cancel) = state.runs.lock().get(run) {
        cancel.cancel();
    }
    Ok(())
}
