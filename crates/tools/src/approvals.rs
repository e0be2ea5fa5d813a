//! The approval queue: approval requests that wait for the user, and their answers (PERM-9 to PERM-11).
//! Requests of servers that need an answer (elicitation, sampling) wait here too.
//!
//! Every request has a deadline; without an answer it counts as denied. An answer counts only for the request
//! that was shown, identified by id and hash. No answer takes effect before it is written to the audit.

mod answering;
mod desk;
mod keeping;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ask::{CallDetails, Elicited, RevealedArgument, ShownArgument};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    Answer, Ask, AskAnswer, AskId, AskUser, BoxFuture, CallAsk, CallHash, ClientId, ErrorCode, Event,
    EventSink, PendingAsk, Problem,
};
use gatehouse_servers::SchemaChecker;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::byte_budget::ByteBudget;
use crate::matter::Matter;
use crate::path_lookup::PathLookup;
use crate::rights::{Keeper, RightsKeeper};
use crate::runs::{CallKey, Run, Runs};
use desk::{About, Desk, Kept, Late, Presence, Question, Waiter, Word};

/// Time-outs and limits of approval requests.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Without an answer within this time, a call is denied.
    pub ask_deadline: Duration,
    /// Initial client time-out estimate: after this time a client is told to call again. What was learned of a
    /// client (see `hold`) can make it shorter, or longer if the client gets progress notifications.
    pub client_hold: Duration,
    /// Interval of progress notifications to a client that waits for the user.
    pub progress_every: Duration,
    /// How long a request stays pending after its last call has left, and how long a late answer is valid.
    pub ticket_life: Duration,
    /// Maximum number of pending requests per client.
    pub max_pending_per_client: usize,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            ask_deadline: Duration::from_secs(600),
            client_hold: Duration::from_secs(50),
            progress_every: Duration::from_secs(10),
            ticket_life: Duration::from_secs(600),
            max_pending_per_client: 64,
        }
    }
}

/// A user's approval of one call, valid once, with the run that identical calls share.
#[derive(Debug)]
pub(crate) struct Yes {
    pub(crate) ask: AskId,
    pub(crate) run: Run,
    /// Value of the pause counter when the request was made. An approval is void after a pause.
    pauses: u64,
}

/// Outcome of an approval request for a call.
#[derive(Debug)]
pub(crate) enum Settled {
    /// The call may run once.
    Allowed(Yes),
    /// The call must not run; with the user's reason.
    Denied(AskId, Option<String>),
    /// The rules changed, or the approval was used by an identical call: the call must be judged again.
    JudgeAnew,
    /// There was no answer in time.
    Lapsed(AskId),
}

/// The time span in which a call may wait for the user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// When the call came in.
    pub(crate) since: Instant,
    /// Client time-out estimate: this long after `since`, the client is told to call again.
    pub(crate) hold: Duration,
}

impl Span {
    /// When the client is told to call again.
    pub(crate) fn end(self) -> Instant {
        self.since + self.hold
    }

    fn left(self) -> Duration {
        self.end().saturating_duration_since(Instant::now())
    }
}

/// Most bytes of arguments of pending calls: per client, and in total. A call may have 16 MiB, and a client
/// may have 64 pending calls.
const CLIENT_BYTES: usize = 32 * 1024 * 1024;
const ALL_BYTES: usize = 128 * 1024 * 1024;

/// Most bytes of approval requests that one reply contains with their details. A larger request is returned
/// with details only if it is the first with details in its reply, so that every request can be fetched.
const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Assumed overhead of one argument in memory and in a reply, in bytes, besides its name and text: many small
/// arguments take memory too.
const HOLDER_BYTES: usize = 64;

/// Most bytes of all pending requests of servers (not about calls). A server may send 64 of 1 MiB each.
const PLAIN_BYTES: usize = 16 * 1024 * 1024;

/// The queue has no room for another request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// This client has the maximum number (given here) of pending requests.
    Count(usize),
    /// The pending requests are too large.
    Bytes,
}

/// Bytes of the arguments as shown.
pub(crate) fn shown_bytes(arguments: &[ShownArgument]) -> usize {
    arguments.iter().map(|argument| argument.name.len() + argument.text.len()).sum()
}

/// Bytes of an approval request for a call: its arguments with their overhead, its choices and conditions, and
/// the announced part.
fn call_size(announced: &CallAsk, details: &CallDetails) -> usize {
    let CallDetails { arguments, choices, denials, conditions } = details;
    let rest = serde_json::to_vec(&(announced, choices, denials, conditions));
    // A request that can't be serialized counts as too large.
    let rest = rest.map_or(usize::MAX, |text| text.len());
    let holders = arguments.len().saturating_mul(HOLDER_BYTES);
    rest.saturating_add(shown_bytes(arguments)).saturating_add(holders)
}

/// Bytes of a request that isn't about a call.
fn plain_size(ask: &Ask) -> usize {
    match ask {
        Ask::Elicitation(asked) => {
            asked.message.len()
                + match &asked.want {
                    Elicited::Form { schema } => schema.len(),
                    Elicited::Url { url, .. } => url.len(),
                }
        }
        Ask::Sampling(asked) => asked.request.len(),
        Ask::Call(_) | Ask::Client(_) | Ask::ConfigChange(_) | Ask::StepUp(_) => 0,
    }
}

/// The queue of pending requests. Cheap to clone.
#[derive(Clone)]
pub struct ApprovalQueue {
    pub(crate) inner: Arc<Queue>,
}

impl fmt::Debug for ApprovalQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalQueue")
            .field("pending", &self.inner.desk.lock().len())
            .finish_non_exhaustive()
    }
}

pub(crate) struct Queue {
    desk: Mutex<Desk>,
    wake: Notify,
    events: Arc<dyn EventSink>,
    rights: Arc<Keeper>,
    patience: Patience,
    schemas: Arc<SchemaChecker>,
    paths: Arc<PathLookup>,
    /// Runs that the user approved: in progress, or ended with a result that the client may not have received.
    pub(crate) runs: Arc<Runs>,
    closing: CancellationToken,
    tracker: TaskTracker,
}

/// Dependencies of the queue, besides the permissions.
pub(crate) struct QueueParts {
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) patience: Patience,
    /// Checks form input against the server's schema.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Looks up the paths that conditions depend on.
    pub(crate) paths: Arc<PathLookup>,
    /// Memory budget for kept results.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
    /// Tracks the tasks of the queue.
    pub(crate) tracker: TaskTracker,
}

impl ApprovalQueue {
    pub(crate) fn start(rights: &RightsKeeper, parts: QueueParts) -> Self {
        let QueueParts { events, patience, schemas, paths, kept_bytes, closing, tracker } = parts;
        let queue = Arc::new(Queue {
            desk: Mutex::new(Desk::default()),
            wake: Notify::new(),
            events,
            rights: rights.inner.clone(),
            runs: Runs::new(patience.ticket_life, kept_bytes),
            patience,
            schemas,
            paths,
            closing,
            tracker: tracker.clone(),
        });
        tracker.spawn(queue.clone().keep());
        Self { inner: queue }
    }

    /// The pending requests, oldest first. Those that fit into one reply have their details (arguments,
    /// choices, conditions).
    #[must_use]
    pub fn pending(&self) -> Vec<PendingAsk> {
        self.pending_beside(&[])
    }

    /// As [`Self::pending`], but the requests in `known` come without details. At least one of the others has
    /// its details, so that a caller gets all by asking again with the ones it knows.
    #[must_use]
    pub fn pending_beside(&self, known: &[AskId]) -> Vec<PendingAsk> {
        self.inner.desk.lock().pending(known)
    }

    /// Number of pending requests.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.desk.lock().len()
    }

    /// One argument of a call that waits for approval, unmasked. `place` is its index among the arguments as
    /// shown. Only for the caller that asked.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if the request has ended or shows another call now;
    /// [`ErrorCode::BadRequest`] if it isn't about a call or has no such argument.
    pub fn reveal(&self, id: &AskId, hash: &CallHash, place: usize) -> Result<RevealedArgument, Problem> {
        let matter = {
            let mut desk = self.inner.desk.lock();
            let question = desk.get(id).ok_or_else(answering::stale)?;
            let about = question.matter();
            about.cloned().ok_or_else(|| answering::wrong("This question is about no call."))?
        };
        if matter.shown_hash != *hash {
            return Err(answering::stale());
        }
        let text = matter.unmasked(place);
        let text = text.ok_or_else(|| answering::wrong("This call has no such argument."))?;
        Ok(RevealedArgument { text })
    }

    /// Answers requests: one, or a group that was shown together. Either all answers take effect or none.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if a request has ended or shows another call now. Other codes if an answer
    /// is invalid, wasn't offered, or can't be written to the audit. On error nothing has changed, except if a
    /// request of a group ended while the answers were written.
    pub async fn answer(&self, answers: Vec<AskAnswer>, by: &'static str) -> Result<(), Problem> {
        let queue = self.inner.clone();
        // Spawned, so that the answer is completed even if the caller goes away.
        let done = self.inner.tracker.spawn(async move { queue.answer(answers, by).await }).await;
        done.unwrap_or_else(|_| Err(Problem::new(ErrorCode::Internal, "The answer could not be taken.")))
    }
}

impl AskUser for ApprovalQueue {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            // Calls are judged first (see `door`); they don't come in here.
            if matches!(ask, Ask::Call(_)) {
                return Answer::Cancel;
            }
            let Ok((seat, answer)) = self.inner.put_plain(ask) else { return Answer::Cancel };
            let answer = answer.await.unwrap_or(Answer::Cancel);
            drop(seat);
            answer
        })
    }
}

/// One call that waits for an approval request. Dropping this stops waiting; the approval request stays
/// pending.
pub(crate) struct Seat {
    queue: Arc<Queue>,
    ask: AskId,
    no: u64,
    matter: Arc<Matter>,
    settled: oneshot::Receiver<Settled>,
}

impl Seat {
    pub(crate) fn ask(&self) -> &AskId {
        &self.ask
    }

    /// Waits for the outcome of the request.
    pub(crate) async fn settled(&mut self) -> Settled {
        match (&mut self.settled).await {
            Ok(settled) => settled,
            Err(_) => Settled::Lapsed(self.ask.clone()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // If an approval arrives at the same moment, it is kept as a late approval.
        if let Ok(Settled::Allowed(yes)) = self.settled.try_recv() {
            self.queue.give_back(&self.matter, yes);
        }
        self.queue.leave(&self.ask, self.no);
    }
}

/// A pending request that isn't about a call. Dropping this withdraws the request.
pub(crate) struct PlainSeat {
    queue: Arc<Queue>,
    ask: AskId,
}

impl Drop for PlainSeat {
    fn drop(&mut self) {
        let gone = self.queue.desk.lock().remove(&self.ask);
        if gone.is_some() {
            self.queue.events.emit(Event::ApprovalExpired { ask: self.ask.clone() });
        }
    }
}

impl Queue {
    /// When the first of the identical calls that wait came in.
    pub(crate) fn waits_since(&self, shown_hash: &CallHash) -> Option<Instant> {
        match &self.desk.lock().by_hash(shown_hash)?.about {
            About::Call { waiters, .. } => waiters.first().map(|first| first.since),
            About::Plain(_) => None,
        }
    }

    /// Joins the pending request for the same call of the same program, if there is one (PERM-11). What the
    /// request shows isn't changed.
    pub(crate) fn attach(
        self: &Arc<Self>,
        matter: &Arc<Matter>,
        span: Span,
    ) -> Result<Option<Seat>, TooMany> {
        let mut desk = self.desk.lock();
        let Some((seat, pending)) = self.join(&mut desk, matter, span)? else { return Ok(None) };
        drop(desk);
        self.joined(pending);
        Ok(Some(seat))
    }

    /// As `attach`, with the lock held. The caller must call [`Queue::joined`] after unlocking.
    fn join(
        self: &Arc<Self>,
        desk: &mut Desk,
        matter: &Arc<Matter>,
        span: Span,
    ) -> Result<Option<(Seat, Option<PendingAsk>)>, TooMany> {
        let no = desk.next();
        let (own, all) = desk.bytes(&matter.caller.client.id);
        let Some(question) = desk.by_hash(&matter.shown_hash) else { return Ok(None) };
        let About::Call { waiters, .. } = &mut question.about else { return Ok(None) };
        // Every waiting call holds its own arguments; those of the first are counted by the request itself.
        let more = if waiters.is_empty() { 0 } else { question.size };
        if own + more > CLIENT_BYTES || all + more > ALL_BYTES {
            return Err(TooMany::Bytes);
        }
        let (to, settled) = oneshot::channel();
        let now = self.rights.time();
        waiters.push(Waiter { no, to, since: span.since, until: now.plus(span.left()) });
        if waiters.len() == 1 {
            question.deadline = Instant::now() + self.patience.ask_deadline;
            question.expires_at = now.plus(self.patience.ask_deadline);
        }
        let ask = question.id.clone();
        let seat = Seat { queue: self.clone(), ask: ask.clone(), no, matter: matter.clone(), settled };
        Ok(Some((seat, desk.announce(&ask, now))))
    }

    /// Announces that a call joined a request. Must be called without the lock.
    fn joined(&self, pending: Option<PendingAsk>) {
        self.wake.notify_one();
        self.tell_change(pending);
    }

    /// Makes an approval request for a call, or joins the pending one for the same call.
    pub(crate) fn put(
        self: &Arc<Self>,
        matter: &Arc<Matter>,
        mut call: CallAsk,
        span: Span,
    ) -> Result<Seat, TooMany> {
        let details = call.take_details().unwrap_or_default();
        let size = call_size(&call, &details);
        // One lock for both steps, so that two identical calls at once don't make two requests.
        let mut desk = self.desk.lock();
        if let Some((seat, pending)) = self.join(&mut desk, matter, span)? {
            drop(desk);
            self.joined(pending);
            return Ok(seat);
        }
        let limit = self.patience.max_pending_per_client;
        if desk.of_client(&matter.caller.client.id) >= limit {
            return Err(TooMany::Count(limit));
        }
        let (own, all) = desk.bytes(&matter.caller.client.id);
        if own.saturating_add(size) > CLIENT_BYTES || all.saturating_add(size) > ALL_BYTES {
            return Err(TooMany::Bytes);
        }
        let now = self.rights.time();
        let until = now.plus(span.left());
        let (to, settled) = oneshot::channel();
        let no = desk.next();
        let question = Question {
            id: AskId::from_random(self.rights.ids.next()),
            asked_at: now,
            expires_at: now.plus(self.patience.ask_deadline),
            deadline: Instant::now() + self.patience.ask_deadline,
            ask: Ask::Call(call),
            details: Some(details),
            size,
            about: About::Call {
                matter: matter.clone(),
                waiters: vec![Waiter { no, to, since: span.since, until }],
            },
            presence: Presence { waiting: true, until: Some(until) },
            announce_at: None,
            rights_verified: self.rights.now().verified,
            pauses: desk.pauses,
            answering: false,
        };
        let seat =
            Seat { queue: self.clone(), ask: question.id.clone(), no, matter: matter.clone(), settled };
        let pending = question.announced();
        desk.insert(question);
        drop(desk);
        self.wake.notify_one();
        self.events.emit(Event::ApprovalRequested { pending });
        Ok(seat)
    }

    /// Makes a request that isn't about a call.
    fn put_plain(self: &Arc<Self>, ask: Ask) -> Result<(PlainSeat, oneshot::Receiver<Answer>), TooMany> {
        let mut desk = self.desk.lock();
        let limit = self.patience.max_pending_per_client;
        if desk.plain() >= limit || self.closing.is_cancelled() {
            return Err(TooMany::Count(limit));
        }
        let size = plain_size(&ask);
        if desk.plain_bytes() + size > PLAIN_BYTES {
            return Err(TooMany::Bytes);
        }
        let now = self.rights.time();
        let (to, answer) = oneshot::channel();
        let question = Question {
            id: AskId::from_random(self.rights.ids.next()),
            asked_at: now,
            expires_at: now.plus(self.patience.ask_deadline),
            deadline: Instant::now() + self.patience.ask_deadline,
            ask,
            details: None,
            size,
            about: About::Plain(Some(to)),
            presence: Presence { waiting: true, until: None },
            announce_at: None,
            rights_verified: false,
            pauses: desk.pauses,
            answering: false,
        };
        let seat = PlainSeat { queue: self.clone(), ask: question.id.clone() };
        let pending = question.announced();
        desk.insert(question);
        drop(desk);
        self.wake.notify_one();
        self.events.emit(Event::ApprovalRequested { pending });
        Ok((seat, answer))
    }

    /// Removes a waiting call. When the last one leaves, the request stays pending for the next identical call.
    fn leave(&self, ask: &AskId, no: u64) {
        let mut desk = self.desk.lock();
        let Some(question) = desk.get(ask) else { return };
        let About::Call { waiters, .. } = &mut question.about else { return };
        let before = waiters.len();
        waiters.retain(|waiter| waiter.no != no);
        if waiters.len() == before || !waiters.is_empty() {
            return;
        }
        question.deadline = self.ticket_end();
        let now = self.rights.time();
        question.expires_at = now.plus(self.patience.ticket_life);
        let pending = desk.announce(ask, now);
        drop(desk);
        self.wake.notify_one();
        self.tell_change(pending);
    }

    fn tell_change(&self, pending: Option<PendingAsk>) {
        if let Some(pending) = pending {
            self.events.emit(Event::ApprovalChanged { pending });
        }
    }

    fn ticket_end(&self) -> Instant {
        Instant::now() + self.patience.ticket_life
    }

    /// Turns an approval into a late approval (ticket) because its call didn't run: its client had left.
    pub(crate) fn give_back(&self, matter: &Matter, yes: Yes) {
        let Yes { ask, run, pauses } = yes;
        self.keep_late(matter, Late::new(ask, Word::Allowed, pauses));
        // Calls that share the run are judged again; the first of them uses the ticket.
        drop(run);
    }

    /// Keeps an answer that no call waited for, unless there was a pause since the request was made or the
    /// source of the call is unknown.
    fn keep_late(&self, matter: &Matter, late: Late) {
        let mut desk = self.desk.lock();
        if late.pauses == desk.pauses && matter.key.names_a_source() {
            let kept = Kept { late, client: matter.caller.client.id.clone(), until: self.ticket_end() };
            desk.late.insert(matter.key.clone(), kept);
        }
        drop(desk);
        self.wake.notify_one();
    }

    /// Looks up a late approval of this exact call, without using it up.
    pub(crate) fn ticket(&self, key: &CallKey) -> Option<AskId> {
        let desk = self.desk.lock();
        let kept = desk.late.get(key)?;
        (kept.late.word == Word::Allowed && kept.until > Instant::now()).then(|| kept.late.ask.clone())
    }

    /// Uses up the late approval; `None` if another call used it first.
    pub(crate) fn use_ticket(&self, matter: &Matter, ask: &AskId) -> Option<Yes> {
        let mut desk = self.desk.lock();
        let kept = desk.late.get(&matter.key)?;
        if kept.late.word != Word::Allowed || kept.late.ask != *ask || kept.until <= Instant::now() {
            return None;
        }
        let Late { ask, pauses, .. } = desk.late.remove(&matter.key)?.late;
        Some(Yes { ask, pauses, run: self.runs.begin(matter) })
    }

    /// Uses up a late denial of this exact call, if there is one.
    pub(crate) fn use_refusal(&self, key: &CallKey) -> Option<(AskId, Option<String>)> {
        let mut desk = self.desk.lock();
        let kept = desk.late.get(key)?;
        if kept.late.word == Word::Allowed || kept.until <= Instant::now() {
            return None;
        }
        match desk.late.remove(key)?.late {
            Late { ask, word: Word::Refused(reason), .. } => Some((ask, reason)),
            Late { word: Word::Allowed, .. } => None,
        }
    }
}
