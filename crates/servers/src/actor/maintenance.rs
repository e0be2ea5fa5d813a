//! Maintenance of an established connection: health checks and reading lists again. The work runs
//! in tasks of its own; results come back to the actor as messages with the connection's epoch, so
//! that results of an older connection are ignored.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_mcp_client::lists::{FetchError, FetchedList, ListKind, fetch};
use gatehouse_mcp_client::{
    CallLimit, RequestParams, RpcOutcome, UpstreamError, UpstreamErrorKind, UpstreamRequest,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::LogLevel;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::ServerActor;
use super::connection_attempt::{describe_shortfall, log_text};
use crate::health::{self, HealthFinding};
use crate::shared::{ActorMessage, LiveConnection, SET_LEVEL, SUBSCRIBE, set_level_request};
use crate::transition::{Epoch, HealthReport, ServerInput};

impl ServerActor {
    /// Schedules the next health check.
    pub(super) fn schedule_health_check(&mut self) {
        let every = self.applied.limits.health_every_secs;
        self.health.at = (every > 0).then(|| Instant::now() + Duration::from_secs(u64::from(every)));
    }

    /// Starts a health check now.
    pub(super) fn check_health(&mut self) {
        self.health.at = None;
        let Some((live, inside)) = self.shared.live.load_full().zip(self.connection_attempt.clone()) else {
            return;
        };
        self.health.checking = true;
        let limits = &self.applied.limits;
        let (limit, allowed) =
            (Duration::from_secs(u64::from(limits.health_timeout_secs.max(1))), limits.health_failures);
        let (shared, inbox) = (Arc::clone(&self.shared), self.shared.inbox.clone());
        self.tasks.spawn(async move {
            let epoch = live.epoch;
            let Some(finding) = inside.run_until_cancelled(health::check(&*live.connection, limit)).await
            else {
                return;
            };
            let input = match finding {
                HealthFinding::Answered => {
                    ServerInput::HealthReport { epoch, health: HealthReport::Answered }
                }
                HealthFinding::Silent if shared.is_busy() => {
                    ServerInput::HealthReport { epoch, health: HealthReport::Busy }
                }
                HealthFinding::Silent => {
                    ServerInput::HealthReport { epoch, health: HealthReport::Missed { allowed } }
                }
                HealthFinding::Challenged { issuer } => ServerInput::Challenged { epoch, issuer },
            };
            if inbox.send(ActorMessage::ServerInput(input)).await.is_err() {
                tracing::trace!("an actor ended before its health check did");
            }
        });
    }

    /// Starts a health check after a failure on the current connection, unless one is running.
    pub(super) fn check_suspect(&mut self, epoch: Epoch) {
        if self.connected() && epoch == self.state.epoch && !self.health.checking {
            self.check_health();
        }
    }

    /// Restores on a new connection the log level and the watched resources of the previous one.
    pub(super) fn restore_settings(&mut self) {
        let Some((live, inside)) = self.shared.live.load_full().zip(self.connection_attempt.clone()) else {
            return;
        };
        let watched: BTreeSet<String> = self.shared.watched.lock().keys().cloned().collect();
        let stateless = live.connection.handshake().protocol_family == ProtocolFamily::Stateless;
        if let Some(level) = self.shared.wanted_log_level()
            && live.declared.covers(SET_LEVEL)
        {
            if stateless {
                live.connection.set_log_level(Some(level));
            } else {
                self.send_log_level(&live, &inside, level);
            }
        }
        if watched.is_empty() || !live.declared.covers(SUBSCRIBE) {
            return;
        }
        if stateless {
            live.connection.watch(watched);
            return;
        }
        let limit = self.applied.limits.connect();
        self.tasks.spawn(async move {
            for uri in watched {
                let params = RequestParams::none().with_text("uri", &uri);
                let request =
                    live.connection.request(UpstreamRequest::new(SUBSCRIBE, params), CallLimit::total(limit));
                match inside.run_until_cancelled(request).await {
                    None => return,
                    Some(Ok(RpcOutcome::Result(_))) => {}
                    Some(Ok(RpcOutcome::Error(_)) | Err(_)) => {
                        tracing::debug!("a resource could not be subscribed to again");
                    }
                }
            }
        });
    }

    fn send_log_level(&mut self, live: &Arc<LiveConnection>, inside: &CancellationToken, level: LogLevel) {
        let (live, inside, limit) = (Arc::clone(live), inside.clone(), self.applied.limits.connect());
        self.tasks.spawn(async move {
            let request = live.connection.request(set_level_request(level), CallLimit::total(limit));
            if let Some(Err(error)) = inside.run_until_cancelled(request).await {
                tracing::debug!(%error, "the log level could not be set again");
            }
        });
    }

    /// Starts reading a list again.
    pub(super) fn refetch_list(&mut self, kind: ListKind) {
        let Some((live, inside)) = self.shared.live.load_full().zip(self.connection_attempt.clone()) else {
            return;
        };
        if !live.declared.covers(kind.method()) {
            self.refresh.done(kind);
            return;
        }
        let (limit, inbox) = (self.applied.limits.connect(), self.shared.inbox.clone());
        self.tasks.spawn(async move {
            let epoch = live.epoch;
            let Some(fetched) = inside.run_until_cancelled(fetch(&*live.connection, kind, limit)).await
            else {
                return;
            };
            if inbox.send(ActorMessage::Refreshed { epoch, kind, fetched }).await.is_err() {
                tracing::trace!("an actor ended before its list was read");
            }
        });
    }

    /// Schedules a list to be read when its time-to-live is over, unless the server announces
    /// changes of it.
    pub(super) fn schedule_refresh(&mut self, kind: ListKind, fresh_for: Duration) {
        let tells = self.shared.live.load().as_ref().is_none_or(|live| live.declared.notifies_changes(kind));
        if !tells {
            self.refresh.mark_stale(kind, Instant::now(), fresh_for);
        }
    }

    /// Stores a list that was read again, if it belongs to the current connection.
    pub(super) fn apply_refreshed_list(
        &mut self,
        epoch: Epoch,
        kind: ListKind,
        fetched: Result<FetchedList, FetchError>,
    ) {
        if !self.connected() || epoch != self.state.epoch {
            return;
        }
        self.refresh.done(kind);
        let FetchedList { items, cut, fresh_for, caching } = match fetched {
            Ok(fetched) => fetched,
            Err(FetchError::ServerConnection(UpstreamError {
                kind: UpstreamErrorKind::NeedsAuth { issuer },
                ..
            })) => {
                self.step(ServerInput::Challenged { epoch, issuer });
                return;
            }
            Err(error) => {
                if matches!(error, FetchError::ServerConnection(_)) {
                    self.refresh.mark_later(kind, Instant::now());
                    self.check_suspect(epoch);
                }
                self.log_remark(log_text(&error));
                return;
            }
        };
        if let Some(fresh_for) = fresh_for {
            self.schedule_refresh(kind, fresh_for);
        }
        let before = self.shared.lists.load_full();
        let mut lists = (*before).clone();
        lists.caching.extend(caching.map(|hints| (kind, hints)));
        let mut remarks = Vec::new();
        describe_shortfall(kind, cut, &kind.set_items(&mut lists, items), &mut remarks);
        let changes = self.changes(&before, &lists);
        for remark in remarks {
            self.log_remark(remark);
        }
        if !changes.is_empty() {
            self.shared.lists.store(Arc::new(lists));
            self.deps.registry.changed();
        }
        for event in changes {
            self.deps.registry.emit(event);
        }
    }
}
