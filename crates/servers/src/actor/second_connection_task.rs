//! Opens and keeps the second connection of a server: health, idleness, log level. It runs as part of the main
//! connection's attempt and ends with it, so that nothing of either is left when a server counts as stopped. It never
//! changes the server's status; what it cannot do is a line in the server's log.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_client::{CallLimit, LifecycleHint, ServerConnection};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::status::FailureKind;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connector::{ConnectOptions, Connector};
use crate::health::{self, HealthFinding};
use crate::second_connection::{OpenSecond, SecondConnection};
use crate::shared::{ActorMessage, SET_LEVEL, ServerShared, set_level_request};
use crate::transition::ConnectFailure;

/// Keeps the second connection of one main connection.
pub(super) struct SecondConnectionTask {
    pub(super) connector: Arc<dyn Connector>,
    /// The parameters of the main connection, with its redactor.
    pub(super) options: ConnectOptions,
    pub(super) shared: Arc<ServerShared>,
    pub(super) place: Arc<SecondConnection>,
    /// Requests to open it.
    pub(super) wanted: mpsc::Receiver<oneshot::Sender<()>>,
}

impl SecondConnectionTask {
    /// Runs until `end` is cancelled. When this returns, no second connection is left.
    pub(super) async fn run(mut self, end: CancellationToken) {
        loop {
            let wanted = tokio::select! {
                biased;
                () = end.cancelled() => return,
                wanted = self.wanted.recv() => wanted,
            };
            let Some(waiting) = wanted else { return };
            let opened = match self.place.current() {
                Some(_) => None,
                None => self.attempt(&end).await,
            };
            drop(waiting);
            if let Some(open) = opened {
                self.keep(&open, &end).await;
                self.place.discard(&open);
                open.connection.close().await;
            }
        }
    }

    /// Makes one attempt.
    async fn attempt(&self, end: &CancellationToken) -> Option<Arc<OpenSecond>> {
        match self.connect(end).await {
            Ok(connection) if end.is_cancelled() => {
                connection.close().await;
                None
            }
            Ok(connection) if connection.handshake().protocol_family == ProtocolFamily::Stateful => {
                let open = self.place.publish(connection);
                self.restore_log_level(&open).await;
                Some(open)
            }
            Ok(connection) => {
                self.place.refuse();
                connection.close().await;
                None
            }
            Err(_) if end.is_cancelled() => None,
            Err(ConnectFailure::Error { kind: FailureKind::Protocol, message }) => {
                tracing::debug!(server = %self.shared.id, %message, "the server speaks only the newest revision");
                self.place.refuse();
                None
            }
            Err(failure) => {
                self.place.fail();
                let why = format!(
                    "Gatehouse: no second connection for clients of the older revisions, so they use the first: {failure}"
                );
                if self.shared.inbox.send(ActorMessage::Remark(why)).await.is_err() {
                    tracing::trace!("an actor ended before its second connection failed");
                }
                None
            }
        }
    }

    async fn connect(&self, end: &CancellationToken) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        let giving_up = end.child_token();
        let options = ConnectOptions {
            lifecycle: LifecycleHint::OnlyInitialize,
            cancel: giving_up.clone(),
            ..self.options.clone()
        };
        let limit = options.config.limits.connect();
        let mut attempt = pin!(self.connector.connect(options));
        tokio::select! {
            biased;
            outcome = &mut attempt => outcome,
            () = tokio::time::sleep(limit) => {
                giving_up.cancel();
                attempt.await
            }
        }
    }

    async fn restore_log_level(&self, open: &OpenSecond) {
        let Some(level) = self.shared.wanted_log_level().filter(|_| open.declared.covers(SET_LEVEL)) else {
            return;
        };
        let limit = CallLimit::total(self.options.config.limits.connect());
        if let Err(error) = open.connection.request(set_level_request(level), limit).await {
            tracing::debug!(%error, "the log level of a second connection could not be set");
        }
    }

    /// Returns when the connection is to be closed, or has ended by itself.
    async fn keep(&mut self, open: &OpenSecond, end: &CancellationToken) {
        let mut checked = Instant::now();
        let mut missed = 0;
        loop {
            let limits = self.shared.config.load().limits.clone();
            let every = Duration::from_secs(u64::from(limits.health_every_secs));
            let check = async {
                if every.is_zero() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep_until(checked + every).await;
            };
            tokio::select! {
                biased;
                () = end.cancelled() => return,
                ended = open.connection.closed() => {
                    tracing::info!(server = %self.shared.id, ?ended, "a second connection ended");
                    return;
                }
                wanted = self.wanted.recv() => match wanted {
                    // It was requested just before it was open.
                    Some(waiting) => { drop(waiting); continue }
                    None => return,
                },
                () = tokio::time::sleep_until(open.idle_at()) => {
                    if open.end_if_idle() {
                        return;
                    }
                    continue;
                }
                () = open.suspect.notified() => {}
                () = check => {}
            }
            let timeout = Duration::from_secs(u64::from(limits.health_timeout_secs.max(1)));
            let checking = health::check(&*open.connection, timeout);
            let Some(finding) = end.run_until_cancelled(checking).await else { return };
            checked = Instant::now();
            match finding {
                HealthFinding::Answered => missed = 0,
                HealthFinding::Silent if open.is_busy() => {}
                HealthFinding::Silent => missed += 1,
                // The main connection has the same credentials and reports it.
                HealthFinding::Challenged { issuer: _ } => return,
            }
            if missed >= limits.health_failures.max(1) {
                tracing::info!(server = %self.shared.id, "a second connection is silent and given up");
                return;
            }
        }
    }
}
