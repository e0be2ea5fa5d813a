//! Test connections: settings are tried before they are saved.

use std::sync::Arc;

use gatehouse_mcp_client::lists::ServerLists;
use gatehouse_mcp_client::{LifecycleHint, Redactor};
use gatehouse_model::status::ServerInfo;
use gatehouse_model::{ErrorCode, ServerConfig, UserError, message};
use tokio::sync::{mpsc, oneshot};

use super::{ServerManager, being_removed};
use crate::actor::connection_attempt::connect_once;
use crate::actor::connector::ConnectOptions;
use crate::transition::ConnectFailure;

/// Result of a test connection.
#[derive(Clone, Debug)]
pub struct ServerTestResult {
    /// How the server identifies itself.
    pub server: ServerInfo,
    pub lists: ServerLists,
}

impl ServerManager {
    /// Connects with settings that are not saved, reads the lists, and closes. Nothing is left
    /// behind, even if the returned future is dropped.
    pub async fn test(&self, config: ServerConfig) -> Result<ServerTestResult, UserError> {
        let cancel = self.shared.test_cancel.lock().child_token();
        self.ensure_running()?;
        self.ensure_mcp_on()?;
        let abandoned = cancel.clone().drop_guard();
        let (inbound, said) = mpsc::channel(16);
        let name = config.name.clone();
        let order = ConnectOptions {
            config: Arc::new(config),
            lifecycle: LifecycleHint::default(),
            redactor: Redactor::default(),
            inbound,
            cancel,
        };
        let connector = Arc::clone(&self.shared.deps.connector);
        let hard = self.shared.hard.clone();
        let (reply, answer) = oneshot::channel();
        self.shared.tracker.spawn(async move {
            let tried = hard.run_until_cancelled(Box::pin(connect_once(&*connector, order))).await;
            drop(said);
            if let Some(tried) = tried
                && reply.send(tried).is_err()
            {
                tracing::debug!("nobody waits for the test any more");
            }
        });
        let tried = answer.await.map_err(|_| being_removed(&name))?;
        drop(abandoned);
        match tried {
            Ok(opened) => Ok(ServerTestResult {
                server: opened.connection.handshake().info.clone(),
                lists: opened.first.lists,
            }),
            Err(failure) => Err(connect_error(&name, &failure)),
        }
    }
}

fn connect_error(name: &str, failure: &ConnectFailure) -> UserError {
    let what = message!("error.servers.notConnected", name = name);
    match failure {
        ConnectFailure::NeedsAuth { issuer: _ } => UserError::new(ErrorCode::ServerUnavailable, what)
            .with_cause(message!("error.servers.wantsSignIn"))
            .with_hint(message!("error.servers.signInAfterAdding")),
        ConnectFailure::NeedsClientRegistration { reason } => {
            UserError::new(ErrorCode::ServerUnavailable, what)
                .with_cause(reason.clone())
                .with_hint(message!("error.servers.clientIdHint"))
        }
        ConnectFailure::Error { kind: _, message } => {
            UserError::new(ErrorCode::ServerUnavailable, what).with_cause(message.clone())
        }
    }
}
