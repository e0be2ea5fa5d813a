//! Signing in to servers and out of them. OAuth itself is in the auth crate; its effects on the running
//! servers are here.

use std::sync::Arc;

use gatehouse_model::command::{ServersPasteAddress, ServersSignIn};
use gatehouse_model::sign_in::{SignInBegun, SignInState, SignedOut};
use gatehouse_model::{ErrorCode, Problem, ServerConfig, ServerId, ServerStatus};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Parts;
use super::servers::find;

/// Starts a sign-in. A server that offers no way to register gets the status that says so.
pub(super) async fn begin(parts: &Parts, wanted: &ServersSignIn) -> Result<SignInBegun, Problem> {
    let server = remote(parts, &wanted.server)?;
    let begun = Box::pin(parts.sign_ins.begin(Arc::clone(&server), wanted.open)).await;
    if let Err(problem) = &begun
        && problem.code == ErrorCode::NeedsClientRegistration
    {
        let reason = problem.why.clone().unwrap_or_else(|| problem.what.clone());
        parts.servers.needs_client_registration(&server.id, reason).await?;
    }
    begun
}

/// Takes the callback URL that the user pasted from the browser.
pub(super) async fn paste(parts: &Parts, wanted: &ServersPasteAddress) -> Result<(), Problem> {
    let server = remote(parts, &wanted.server)?;
    parts.sign_ins.paste(&server.id, wanted.address.reveal())
}

/// Cancels a pending sign-in.
pub(super) async fn cancel(parts: &Parts, server: &str) -> Result<(), Problem> {
    let server = remote(parts, server)?;
    parts.sign_ins.cancel(&server.id);
    Ok(())
}

/// Signs out and reconnects, since the open connection still has the token.
pub(super) async fn sign_out(parts: &Parts, server: &str) -> Result<SignedOut, Problem> {
    let server = remote(parts, server)?;
    let out = parts.sign_ins.sign_out(Arc::clone(&server)).await?;
    if server.enabled && parts.servers.is_on() {
        parts.servers.reconnect(&server.id).await?;
    }
    Ok(out)
}

/// State of a server's sign-in; `None` if there is nothing to sign in to.
pub(super) async fn state(parts: &Parts, server: &Arc<ServerConfig>) -> Option<SignInState> {
    let remote = server.transport.remote()?;
    let otherwise = remote.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
    if remote.sign_in.off || otherwise {
        return None;
    }
    Some(parts.sign_ins.state(Arc::clone(server)).await)
}

/// Reconnects servers after a sign-in.
pub(crate) struct SignedIn {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl SignedIn {
    pub(crate) fn start(parts: &Arc<Parts>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let connecting = connect_each(Arc::clone(parts), parts.sign_ins.signed_in());
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

async fn connect_each(parts: Arc<Parts>, mut signed_in: Receiver<ServerId>) {
    loop {
        match signed_in.recv().await {
            Ok(server) => connect(&parts, &server).await,
            Err(RecvError::Lagged(_)) => {
                for snapshot in parts.servers.list() {
                    connect(&parts, &snapshot.config.id).await;
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Reconnects a server that waits for a sign-in or has failed; a connected server keeps its calls.
async fn connect(parts: &Parts, server: &ServerId) {
    let Some(handle) = parts.servers.get(server) else { return };
    let waits = matches!(
        handle.status(),
        ServerStatus::NeedsAuth { .. }
            | ServerStatus::NeedsClientRegistration { .. }
            | ServerStatus::Failed { .. }
    );
    if !waits {
        return;
    }
    if let Err(problem) = parts.servers.reconnect(server).await {
        tracing::warn!(%server, %problem, "a server that was signed in to could not be connected");
    }
}

fn remote(parts: &Parts, server: &str) -> Result<Arc<ServerConfig>, Problem> {
    let config = find(parts, server)?;
    match config.transport.remote() {
        Some(remote) if remote.sign_in.off => Err(Problem::new(
            ErrorCode::BadRequest,
            format!("Signing in to {} is switched off.", config.name),
        )
        .todo("Switch it on in the server's settings.")),
        Some(_) => Ok(config),
        None => Err(Problem::new(
            ErrorCode::BadRequest,
            format!("{} runs on this computer: there is nothing to sign in to.", config.name),
        )),
    }
}
