//! Maintenance of an established connection: health checks and reading lists again. The work runs
//! in tasks of its own; results come back to the actor as messages with the connection's epoch, so
//! that results of an older connection are ignored.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::server::LogLevel;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::link::{LinkError, LinkRequest};
use super::tenure::{note, sentence};
use super::{Message, ServerActor};
use crate::connection::Era;
use crate::handle::{Live, SET_LEVEL, SUBSCRIBE};
use crate::health::{self, Finding};
use crate::lists::{FetchError, Fetched, ListKind, fetch};
use crate::outgoing::{OutgoingParams, Reply};
use crate::transition::{Epoch, Input, Pulse};

impl ServerActor {
    /// Schedules the next health check.
    pub(super) fn plan_check(&mut self) {
        let every = self.applied.limits.health_every_secs;
        self.pulse.at = (every > 0).then(|| Instant::now() + Duration::from_secs(u64::from(every)));
    }

    /// Starts a health check now.
    pub(super) fn check_health(&mut self) {
        self.pulse.at = None;
        let Some((live, inside)) = self.shared.live.load_full().zip(self.tenure.clone()) else { return };
        self.pulse.checking = true;
        let limits = &self.applied.limits;
        let (limit, allowed) =
            (Duration::from_secs(u64::from(limits.health_timeout_secs.max(1))), limits.health_failures);
        let (shared, inbox) = (Arc::clone(&self.shared), self.shared.inbox.clone());
        self.tasks.spawn(async move {
            let epoch = live.epoch;
            let Some(finding) = inside.run_until_cancelled(health::check(&*live.link, limit)).await else {
                return;
            };
            let input = match finding {
                Finding::Answered => Input::Pulse { epoch, pulse: Pulse::Answered },
                Finding::Silent if shared.busy() => Input::Pulse { epoch, pulse: Pulse::Busy },
                Finding::Silent => Input::Pulse { epoch, pulse: Pulse::Missed { allowed } },
                Finding::Challenged { issuer } => Input::Challenged { epoch, issuer },
            };
            if inbox.send(Message::Input(input)).await.is_err() {
                tracing::trace!("an actor ended before its health check did");
            }
        });
    }

    /// Starts a health check after a failure on the current connection, unless one is running.
    pub(super) fn doubt(&mut self, epoch: Epoch) {
        if self.connected() && epoch == self.state.epoch && !self.pulse.checking {
            self.check_health();
        }
    }

    /// Restores on a new connection the log level and the watched resources of the previous one.
    pub(super) fn set_again(&mut self) {
        let Some((live, inside)) = self.shared.live.load_full().zip(self.tenure.clone()) else { return };
        let watched: BTreeSet<String> = self.shared.watched.lock().keys().cloned().collect();
        let stateless = live.link.handshake().era == Era::Stateless;
        if let Some(level) = self.shared.wanted_log_level()
            && live.declared.cover(SET_LEVEL)
        {
            if stateless {
                live.link.set_log_level(Some(level));
            } else {
                self.send_log_level(&live, &inside, level);
            }
        }
        if watched.is_empty() || !live.declared.cover(SUBSCRIBE) {
            return;
        }
        if stateless {
            live.link.watch(watched);
            return;
        }
        let limit = self.applied.limits.connect();
        self.tasks.spawn(async move {
            for uri in watched {
                let params = OutgoingParams::none().with_text("uri", &uri);
                let request = live.link.request(LinkRequest::own(SUBSCRIBE, params, limit));
                match inside.run_until_cancelled(request).await {
                    None => return,
                    Some(Ok(Reply::Result(_))) => {}
                    Some(Ok(Reply::Error(_)) | Err(_)) => {
                        tracing::debug!("a resource could not be subscribed to again");
                    }
                }
            }
        });
    }

    fn send_log_level(&mut self, live: &Arc<Live>, inside: &CancellationToken, level: LogLevel) {
        let (live, inside, limit) = (Arc::clone(live), inside.clone(), self.applied.limits.connect());
        self.tasks.spawn(async move {
            let params = OutgoingParams::none().with_text("level", level.word());
            let request = live.link.request(LinkRequest::own(SET_LEVEL, params, limit));
            if let Some(Err(error)) = inside.run_until_cancelled(request).await {
                tracing::debug!(%error, "the log level could not be set again");
            }
        });
    }

    /// Starts reading a list again.
    pub(super) fn read_again(&mut self, kind: ListKind) {
        let Some((live, inside)) = self.shared.live.load_full().zip(self.tenure.clone()) else { return };
        if !live.declared.cover(kind.method()) {
            self.refresh.done(kind);
            return;
        }
        let (limit, inbox) = (self.applied.limits.connect(), self.shared.inbox.clone());
        self.tasks.spawn(async move {
            let epoch = live.epoch;
            let Some(fetched) = inside.run_until_cancelled(fetch(&*live.link, kind, limit)).await else {
                return;
            };
            if inbox.send(Message::Refreshed { epoch, kind, fetched }).await.is_err() {
                tracing::trace!("an actor ended before its list was read");
            }
        });
    }

    /// Schedules a list to be read when its time-to-live is over, unless the server announces
    /// changes of it.
    pub(super) fn stays_fresh(&mut self, kind: ListKind, fresh_for: Duration) {
        let tells = self.shared.live.load().as_ref().is_none_or(|live| live.declared.tell_of(kind));
        if !tells {
            self.refresh.mark_stale(kind, Instant::now(), fresh_for);
        }
    }

    /// Stores a list that was read again, if it belongs to the current connection.
    pub(super) fn refreshed(&mut self, epoch: Epoch, kind: ListKind, fetched: Result<Fetched, FetchError>) {
        if !self.connected() || epoch != self.state.epoch {
            return;
        }
        self.refresh.done(kind);
        let Fetched { items, cut, fresh_for } = match fetched {
            Ok(fetched) => fetched,
            Err(FetchError::Link(LinkError::NeedsAuth { issuer })) => {
                self.step(Input::Challenged { epoch, issuer });
                return;
            }
            Err(error) => {
                if matches!(error, FetchError::Link(_)) {
                    self.refresh.mark_later(kind, Instant::now());
                    self.doubt(epoch);
                }
                self.remark(sentence(&error));
                return;
            }
        };
        if let Some(fresh_for) = fresh_for {
            self.stays_fresh(kind, fresh_for);
        }
        let before = self.shared.lists.load_full();
        let mut lists = (*before).clone();
        let mut remarks = Vec::new();
        note(kind, cut, &kind.put(&mut lists, items), &mut remarks);
        let changes = self.changes(&before, &lists);
        for remark in remarks {
            self.remark(remark);
        }
        if !changes.is_empty() {
            self.shared.lists.store(Arc::new(lists));
            self.deps.roster.changed();
        }
        for event in changes {
            self.deps.roster.emit(event);
        }
    }
}
