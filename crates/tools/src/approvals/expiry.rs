//! Ends requests without an answer: deadlines, pauses, revoked clients, new blocks, shutdown. None of these is
//! ever an approval.

use std::sync::Arc;

use gatehouse_model::record::{AuditEvent, ServerRequestAnswer};
use gatehouse_model::{ApprovalId, ApprovalRequest, ClientId, Decision, Event, GrantId};
use gatehouse_policy::coverage::is_unbound;
use tokio::time::Instant;

use super::approval_queue::ApprovalQueue;
use super::approval_table::{
    ApprovalSource, ApprovalWaiter, QueuedApproval, request_answered, unbound_grant,
};
use super::outcome::CallApprovalOutcome;
use crate::call_types::call_key::CallKey;
use crate::paths::path_lookup::{self, KnownPaths};
use crate::pending_call::{PendingCall, PolicyInputs};
use crate::permissions::current::CurrentPermissions;

impl ApprovalQueue {
    /// Task that ends requests when due, until shutdown.
    pub(super) async fn run_expiry(self) {
        let mut changes = self.state.permissions.changes();
        loop {
            let next = self.state.approvals.lock().next_end();
            let sleep = async {
                match next {
                    Some(moment) => tokio::time::sleep_until(moment).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.state.closing.cancelled() => break,
                () = self.state.wake.notified() => {}
                changed = changes.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.apply_permissions().await;
                }
                () = sleep => self.end_overdue(),
            }
        }
        self.end(|_| true, |id| CallApprovalOutcome::Lapsed { id });
    }

    fn end_overdue(&self) {
        let now = Instant::now();
        let due = {
            let mut approvals = self.state.approvals.lock();
            approvals.late.retain(|_, stored| stored.until > now);
            approvals.due_changes()
        };
        for id in due {
            let pending = self.state.approvals.lock().announce(&id, self.state.permissions.time());
            self.emit_change(pending);
        }
        self.end(
            |queued| !queued.is_answering && queued.deadline <= now,
            |id| CallApprovalOutcome::Lapsed { id },
        );
    }

    /// Ends requests whose call a new rule denies, and those whose choices or warnings are out of date; their
    /// calls are judged again.
    async fn apply_permissions(&self) {
        let permissions = Arc::clone(&self.state.permissions.now());
        let mut known = KnownPaths::default();
        // Looked up before the queue is locked. A call that comes in meanwhile is judged without its paths; at
        // worst it is judged again and gets a new request.
        let missing = self.missing_paths(&permissions, &known);
        self.state.paths.look_up(missing, path_lookup::deadline(), &mut known).await;
        let rules_alone = self.rules_alone(&known);
        self.end(
            |queued| {
                !queued.is_answering
                    && queued.pending_call().is_some_and(|pending_call| {
                        let blocked = self.state.permissions.forbids(&pending_call.config);
                        let inputs = PolicyInputs { blocked_by_file: blocked.as_deref(), ..rules_alone };
                        pending_call.decide(&permissions, inputs).decision == Decision::Deny
                            || !self.is_current(queued)
                    })
            },
            |_| CallApprovalOutcome::Reevaluate,
        );
    }

    /// The paths needed to judge all pending calls.
    fn missing_paths(&self, permissions: &CurrentPermissions, known: &KnownPaths) -> Vec<String> {
        let waiting: Vec<Arc<PendingCall>> =
            self.state.approvals.lock().iter().filter_map(|queued| queued.pending_call().cloned()).collect();
        let rules_alone = self.rules_alone(known);
        known.missing(
            waiting.iter().flat_map(|pending_call| pending_call.paths(permissions, rules_alone)).collect(),
        )
    }

    /// Neutral values for everything that affects a verdict besides the rules.
    fn rules_alone<'a>(&self, paths: &'a KnownPaths) -> PolicyInputs<'a> {
        PolicyInputs {
            blocked_by_file: None,
            paused: false,
            ticket: None,
            now: self.state.permissions.time(),
            paths,
        }
    }

    /// Whether a request for the same call would show the same if it were made now.
    pub(super) fn is_current(&self, queued: &QueuedApproval) -> bool {
        let Some(pending_call) = queued.pending_call() else { return true };
        let permissions = self.state.permissions.now();
        let catalog = self.state.permissions.catalog().load();
        // If the tool is gone or its definition changed, the check before dispatch notices.
        let same_class = catalog
            .find(pending_call.server(), &pending_call.subject.rule_name())
            .filter(|tool| pending_call.is_call_of(tool))
            .is_none_or(|tool| *permissions.class_of(tool) == pending_call.class);
        let unbound =
            if let ApprovalRequest::Call(call) = &queued.request { unbound_grant(call) } else { None };
        let still_waits =
            |grant: &GrantId| permissions.rules().any(|rule| rule.id == *grant && is_unbound(rule));
        same_class && queued.permissions_verified == permissions.verified && unbound.is_none_or(still_waits)
    }

    /// Ends all approval requests for calls, all late answers and all shared runs (PERM-13).
    pub(crate) fn end_calls(&self) {
        {
            let mut approvals = self.state.approvals.lock();
            approvals.pauses += 1;
            approvals.late.clear();
        }
        self.state.runs.clear();
        self.end(|queued| queued.pending_call().is_some(), |_| CallApprovalOutcome::Reevaluate);
    }

    /// Ends the requests of a client whose access was revoked.
    pub(crate) fn end_client(&self, client: &ClientId) {
        self.state.approvals.lock().late.retain(|_, stored| stored.client != *client);
        self.state.runs.forget_client(client);
        let of = |pending_call: &Arc<PendingCall>| pending_call.caller.client.id == *client;
        self.end(|queued| queued.pending_call().is_some_and(of), |id| CallApprovalOutcome::Lapsed { id });
    }

    /// Ends the other approval requests for the same call after one was answered, as far as `which` selects
    /// them. Without a known source, calls never count as identical.
    pub(super) fn end_duplicates(&self, key: &CallKey, which: impl Fn(&[ApprovalWaiter]) -> bool) {
        if !key.identifies_caller() {
            return;
        }
        let is_twin = |queued: &QueuedApproval| match &queued.source {
            ApprovalSource::Call { pending_call, waiters } => {
                pending_call.key == *key && !queued.is_answering && which(waiters)
            }
            ApprovalSource::Request(_) => false,
        };
        self.end(is_twin, |_| CallApprovalOutcome::Reevaluate);
    }

    fn end(&self, ends: impl Fn(&QueuedApproval) -> bool, how: impl Fn(ApprovalId) -> CallApprovalOutcome) {
        let ended: Vec<QueuedApproval> = {
            let mut approvals = self.state.approvals.lock();
            let ids: Vec<ApprovalId> =
                approvals.iter().filter(|queued| ends(queued)).map(|queued| queued.id.clone()).collect();
            ids.iter().filter_map(|id| approvals.remove(id)).collect()
        };
        let mut lapsed = Vec::new();
        for queued in ended {
            let QueuedApproval { id, source, request, .. } = queued;
            match source {
                ApprovalSource::Call { pending_call, waiters } => {
                    lapsed.push(AuditEvent::Lapsed { ask: id.clone(), hash: pending_call.hash.clone() });
                    for waiter in waiters {
                        // A call that has left at this moment needs no answer.
                        waiter.notify(how(id.clone())).ok();
                    }
                }
                ApprovalSource::Request(to) => {
                    let unanswered = ServerRequestAnswer::Unanswered;
                    lapsed.extend(request_answered(&request, &id, unanswered, None));
                    // Dropping the sender answers the server's request with "cancel".
                    drop(to);
                }
            }
            self.state.events.emit(Event::ApprovalExpired { approval: id });
        }
        if !lapsed.is_empty() {
            let permissions = self.state.permissions.clone();
            self.state.tracker.spawn(async move {
                if let Err(error) = permissions.audit(lapsed).await {
                    tracing::error!(%error, "the end of approval requests could not be written to the audit");
                }
            });
        }
    }
}
