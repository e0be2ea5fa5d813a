//! The end of questions that nobody answers: deadlines, pauses, clients that are gone, blocks that
//! came meanwhile, shutdown. None of them is ever a yes.

use super::*;
use crate::matter::Beside;

impl Queue {
    /// Lets questions end in time until everything closes.
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
                    self.apply_blocks();
                }
                () = sleep => self.end_overdue(),
            }
        }
        self.end(|_| true, Settled::Lapsed);
    }

    fn end_overdue(self: &Arc<Self>) {
        let now = Instant::now();
        self.desk.lock().late.retain(|_, late| late.until > now);
        self.end(|question| !question.answering && question.deadline <= now, Settled::Lapsed);
    }

    /// Calls that a new rule blocks need no answer any more.
    fn apply_blocks(self: &Arc<Self>) {
        let rights = self.rights.now();
        let now = self.rights.time();
        self.end(
            |question| {
                !question.answering
                    && question.matter().is_some_and(|matter| {
                        let blocked = self.rights.forbids(&matter.config);
                        let beside = Beside { blocked_by_file: blocked.as_deref(), ..Beside::default() };
                        matter.judge(&rights, beside, now).decision == gatehouse_model::Decision::Deny
                    })
            },
            |_| Settled::JudgeAnew,
        );
    }

    /// Ends all questions about calls, and every late answer (PERM-13).
    pub(crate) fn end_calls(self: &Arc<Self>) {
        self.desk.lock().late.clear();
        self.end(|question| question.matter().is_some(), |_| Settled::JudgeAnew);
    }

    /// Ends the questions of a client whose access ended.
    pub(crate) fn end_client(self: &Arc<Self>, client: &ClientId) {
        self.desk.lock().late.retain(|_, late| late.client != *client);
        let of = |matter: &Arc<Matter>| matter.caller.client.id == *client;
        self.end(|question| question.matter().is_some_and(of), Settled::Lapsed);
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
            let Question { id, about, .. } = question;
            match about {
                About::Call { matter, waiters } => {
                    lapsed.push(AuditEvent::Lapsed { ask: id.clone(), hash: matter.hash.clone() });
                    for waiter in waiters {
                        tell(waiter, how(id.clone()));
                    }
                }
                // Dropping the way to whoever asked is a "cancel".
                About::Plain(to) => drop(to),
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

/// Tells one waiting call; false when it has left in this moment.
pub(super) fn tell(waiter: Waiter, settled: Settled) -> bool {
    waiter.to.send(settled).is_ok()
}
