//! Server side of the control socket. Reads lines, plain or encrypted, and passes the commands in them
//! to the facade with the authority that the channel proves; it makes no decisions itself. The first
//! line determines for the whole connection whether there is a channel.

mod connection;
mod connection_slots;
mod requests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ErrorCode, UserError, message};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::connection::ControlConnection;
use self::connection_slots::{ConnectionSlot, UnauthenticatedConnections};
use super::listen::ControlListener;
use crate::command_service::CommandService;

/// The open control socket with its connections.
pub(crate) struct ControlServer {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl ControlServer {
    /// Opens the socket of a data folder. The caller must hold the lock of the folder.
    pub(crate) fn bind(data_dir: &Path, command_service: Arc<CommandService>) -> Result<Self, UserError> {
        let listener = ControlListener::bind(data_dir).map_err(|e| {
            UserError::new(ErrorCode::Storage, message!("error.app.socketUnopened"))
                .with_cause(format!("{e}."))
        })?;
        let server = Self { cancel: CancellationToken::new(), tasks: TaskTracker::new() };
        let (cancel, tasks) = (server.cancel.clone(), server.tasks.clone());
        server.tasks.spawn(accept(listener, command_service, cancel, tasks));
        Ok(server)
    }

    /// Closes the socket and all connections.
    pub(crate) async fn shutdown(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Accepts connections until it is cancelled.
async fn accept(
    mut listener: ControlListener,
    command_service: Arc<CommandService>,
    cancel: CancellationToken,
    tasks: TaskTracker,
) {
    let unauthenticated = Arc::new(UnauthenticatedConnections::default());
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, process)) => {
                let closed = cancel.child_token();
                let slot = ConnectionSlot::take(&unauthenticated, closed.clone());
                let command_service = Arc::clone(&command_service);
                let connection =
                    ControlConnection::new(command_service, process, closed, tasks.clone(), slot);
                tasks.spawn(connection.serve(stream));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the control socket could not be taken");
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                }
            }
        }
    }
}
