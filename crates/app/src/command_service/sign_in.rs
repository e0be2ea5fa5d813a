//! Signing in to servers and out of them. OAuth itself is in the auth crate; its effects on the running
//! servers are here.

use std::sync::Arc;

use gatehouse_model::command::{ServersPasteAddress, ServersSignIn, ServersSignOut};
use gatehouse_model::sign_in::{SignInStart, SignInState, SignOutResult};
use gatehouse_model::{ErrorCode, ServerConfig, ServerId, ServerStatus, UserError, message};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::AppState;
use super::lookup::find;
use super::named_runs::NamedRun;

/// Starts a sign-in. A server that offers no way to register gets the status that says so.
pub(super) async fn begin(state: &AppState, wanted: &ServersSignIn) -> Result<SignInStart, UserError> {
    let server = remote(state, &wanted.server)?;
    let begun = Box::pin(state.sign_ins.begin(Arc::clone(&server), wanted.open)).await;
    if let Err(error) = &begun
        && error.code == ErrorCode::NeedsClientRegistration
    {
        let reason = error.cause.as_ref().unwrap_or(&error.message).clone();
        state.servers.needs_client_registration(&server.id, reason).await?;
    }
    begun
}

/// Takes the callback URL that the user pasted from the browser.
pub(super) async fn paste(state: &AppState, wanted: &ServersPasteAddress) -> Result<(), UserError> {
    let server = remote(state, &wanted.server)?;
    state.sign_ins.paste(&server.id, wanted.address.reveal())
}

/// Cancels a pending sign-in.
pub(super) async fn cancel(state: &AppState, server: &str) -> Result<(), UserError> {
    let server = remote(state, server)?;
    state.sign_ins.cancel(&server.id);
    Ok(())
}

/// Signs out and reconnects, since the open connection still has the token. If the run is cancelled while the server
/// that gave the tokens revokes them, they are deleted all the same.
pub(super) async fn sign_out(
    state: &AppState,
    wanted: &ServersSignOut,
    gone: &CancellationToken,
) -> Result<SignOutResult, UserError> {
    let server = remote(state, &wanted.server)?;
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let out = state.sign_ins.sign_out(Arc::clone(&server), &named.cancel).await?;
    drop(named);
    if server.enabled && state.servers.is_on() {
        state.servers.reconnect(&server.id).await?;
    }
    Ok(out)
}

/// State of a server's sign-in; `None` if there is nothing to sign in to.
pub(super) async fn state(state: &AppState, server: &Arc<ServerConfig>) -> Option<SignInState> {
    let remote = server.transport.remote()?;
    let otherwise = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if remote.sign_in.off || otherwise {
        return None;
    }
    Some(state.sign_ins.state(Arc::clone(server)).await)
}

/// Reconnects servers after a sign-in.
pub(crate) struct SignInReconnector {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl SignInReconnector {
    pub(crate) fn start(state: &Arc<AppState>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let connecting = reconnect_each(Arc::clone(state), state.sign_ins.subscribe());
        let stopped = stop.clone();
        tasks.spawn(async move { stopped.run_until_cancelled(connecting).await });
        Self { tasks, stop }
    }

    pub(crate) async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn reconnect_each(state: Arc<AppState>, mut signed_in: Receiver<ServerId>) {
    loop {
        match signed_in.recv().await {
            Ok(server) => reconnect_if_waiting(&state, &server).await,
            Err(RecvError::Lagged(_)) => {
                for snapshot in state.servers.list() {
                    reconnect_if_waiting(&state, &snapshot.config.id).await;
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Reconnects a server that waits for a sign-in or has failed; a connected server keeps its calls.
async fn reconnect_if_waiting(state: &AppState, server: &ServerId) {
    let Some(handle) = state.servers.get(server) else { return };
    let waits = matches!(
        handle.status(),
        ServerStatus::NeedsAuth { .. }
            | ServerStatus::NeedsClientRegistration { .. }
            | ServerStatus::Failed { .. }
    );
    if !waits {
        return;
    }
    if let Err(error) = state.servers.reconnect(server).await {
        tracing::warn!(%server, %error, "a server that was signed in to could not be connected");
    }
}

fn remote(state: &AppState, server: &str) -> Result<Arc<ServerConfig>, UserError> {
    let config = find(state, server)?;
    match config.transport.remote() {
        Some(remote) if remote.sign_in.off => {
            Err(UserError::new(ErrorCode::BadRequest, message!("error.app.signInOff", server = &config.name))
                .with_hint(message!("error.app.signInOffHint")))
        }
        Some(_) => Ok(config),
        None => {
            Err(UserError::new(ErrorCode::BadRequest, message!("error.app.noSignIn", server = &config.name)))
        }
    }
}
