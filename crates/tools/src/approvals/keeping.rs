//! Ends requests without an answer: deadlines, pauses, revoked clients, new blocks, shutdown. None of these is
//! ever an approval.

use gatehouse_model::GrantId;
use gatehouse_model::record::ServerRequestAnswer;
use gatehouse_policy::cover::is_unbound;

use super::answering::unbound_grant;
use super::*;
use crate::matter::Beside;
use crate::path_lookup::{self, KnownPaths};
use crate::standing::RightsNow;

impl Queue {
    /// Task that ends requests when due, until shutdown.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut changes = self.rights.changes();
        loop {
            let next = self.desk.lock().next_end();
            let sleep = async {
                match next {
                    Some(moment) => tokio::time::sleep_until(moment).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.closing.cancelled() => break,
                () = self.wake.notified() => {}
                changed = changes.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    self.apply_rights().await;
                }
                () = sleep => self.end_overdue(),
            }
        }
        self.end(|_| true, Settled::Lapsed);
    }

    fn end_overdue(self: &Arc<Self>) {
        let now = Instant::now();
        let due = {
            let mut desk = self.desk.lock();
            desk.late.retain(|_, kept| kept.until > now);
            desk.changes_due()
        };
        for ask in due {
            let pending = self.desk.lock().announce(&ask, self.rights.time());
            self.tell_change(pending);
        }
        self.end(|question| !question.answering && question.deadline <= now, Settled::Lapsed);
    }

    /// Ends requests whose call a new rule denies, and those whose choices or warnings are out of date; their
    /// calls are judged again.
    async fn apply_rights(self: &Arc<Self>) {
        let rights = Arc::clone(&self.rights.now());
        let mut known = KnownPaths::default();
        // Looked up before the queue is locked. A call that comes in meanwhile is judged without its paths; at
        // worst it is judged again and gets a new request.
        let missing = self.missing_paths(&rights, &known);
        self.paths.look_up(missing, path_lookup::deadline(), &mut known).await;
        let rules_alone = self.rules_alone(&known);
        self.end(
            |question| {
                !question.answering
                    && question.matter().is_some_and(|matter| {
                        let blocked = self.rights.forbids(&matter.config);
                        let beside = Beside { blocked_by_file: blocked.as_deref(), ..rules_alone };
                        matter.judge(&rights, beside).decision == gatehouse_model::Decision::Deny
                            || !self.is_current(question)
                    })
            },
            |_| Settled::JudgeAnew,
        );
    }

    /// The paths needed to judge all pending calls.
    fn missing_paths(&self, rights: &RightsNow, known: &KnownPaths) -> Vec<String> {
        let waiting: Vec<Arc<Matter>> =
            self.desk.lock().iter().filter_map(|question| question.matter().cloned()).collect();
        let rules_alone = self.rules_alone(known);
        known.missing(waiting.iter().flat_map(|matter| matter.paths(rights, rules_alone)).collect())
    }

    /// Neutral values for everything that affects a verdict besides the rules.
    fn rules_alone<'a>(&self, paths: &'a KnownPaths) -> Beside<'a> {
        Beside { blocked_by_file: None, paused: false, ticket: None, now: self.rights.time(), paths }
    }

    /// Whether a request for the same call would show the same if it were made now.
    pub(super) fn is_current(&self, question: &Question) -> bool {
        let Some(matter) = question.matter() else { return true };
        let rights = self.rights.now();
        let catalogue = self.rights.catalogue.load();
        // If the tool is gone or its definition changed, the check before dispatch notices.
        let same_class = catalogue
            .by_exposed(&matter.exposed_name)
            .filter(|tool| matter.is_of(tool))
            .is_none_or(|tool| *rights.class_of(tool) == matter.class);
        let unbound = if let Ask::Call(call) = &question.ask { unbound_grant(call) } else { None };
        let still_waits = |grant: &GrantId| rights.rules().any(|rule| rule.id == *grant && is_unbound(rule));
        same_class && question.rights_verified == rights.verified && unbound.is_none_or(still_waits)
    }

    /// Ends all approval requests for calls, all late answers and all shared runs (PERM-13).
    pub(crate) fn end_calls(self: &Arc<Self>) {
        {
            let mut desk = self.desk.lock();
            desk.pauses += 1;
            desk.late.clear();
        }
        self.runs.clear();
        self.end(|question| question.matter().is_some(), |_| Settled::JudgeAnew);
    }

    /// Ends the requests of a client whose access was revoked.
    pub(crate) fn end_client(self: &Arc<Self>, client: &ClientId) {
        self.desk.lock().late.retain(|_, kept| kept.client != *client);
        self.runs.forget_client(client);
        let of = |matter: &Arc<Matter>| matter.caller.client.id == *client;
        self.end(|question| question.matter().is_some_and(of), Settled::Lapsed);
    }

    /// Ends the other approval requests for the same call after one was answered, as far as `which` selects
    /// them. Without a known source, calls never count as identical.
    pub(super) fn end_twins(self: &Arc<Self>, key: &CallKey, which: impl Fn(&[Waiter]) -> bool) {
        if !key.names_a_source() {
            return;
        }
        let is_twin = |question: &Question| match &question.about {
            About::Call { matter, waiters } => matter.key == *key && !question.answering && which(waiters),
            About::Plain(_) => false,
        };
        self.end(is_twin, |_| Settled::JudgeAnew);
    }

    fn end(self: &Arc<Self>, ends: impl Fn(&Question) -> bool, how: impl Fn(AskId) -> Settled) {
        let gone: Vec<Question> = {
            let mut desk = self.desk.lock();
            let ids: Vec<AskId> =
                desk.iter().filter(|question| ends(question)).map(|question| question.id.clone()).collect();
            ids.iter().filter_map(|id| desk.remove(id)).collect()
        };
        let mut lapsed = Vec::new();
        for question in gone {
            let Question { id, about, ask, .. } = question;
            match about {
                About::Call { matter, waiters } => {
                    lapsed.push(AuditEvent::Lapsed { ask: id.clone(), hash: matter.hash.clone() });
                    for waiter in waiters {
                        // A call that has left at this moment needs no answer.
                        tell(waiter, how(id.clone())).ok();
                    }
                }
                About::Plain(to) => {
                    let unanswered = ServerRequestAnswer::Unanswered;
                    lapsed.extend(super::answering::server_request(&ask, &id, unanswered, None));
                    // Dropping the sender answers the server's request with "cancel".
                    drop(to);
                }
            }
            self.events.emit(Event::ApprovalExpired { ask: id });
        }
        if !lapsed.is_empty() {
            let rights = self.rights.clone();
            self.tracker.spawn(async move {
                if let Err(problem) = rights.audit(lapsed).await {
                    tracing::error!(%problem, "ended questions are missing in the audit");
                }
            });
        }
    }
}

/// Sends the outcome to a waiting call; gives it back if the call has left.
pub(super) fn tell(waiter: Waiter, settled: Settled) -> Result<(), Settled> {
    waiter.to.send(settled)
}
