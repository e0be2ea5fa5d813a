//! The questions that wait for a person, and what came of them (PERM-9 to PERM-11).
//!
//! A question never waits for ever: it has a deadline, and nobody's answer is a no. An answer counts
//! only for what it was given for, by id and hash. Nothing takes effect before it is written down.

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

/// How long people and programs are waited for.
#[derive(Clone, Debug)]
pub struct Patience {
    /// After this time no answer is a no.
    pub ask_deadline: Duration,
    /// After this time a client is told to call again, until more is known of it.
    pub client_hold: Duration,
    /// Time between signs of life to a client that waits.
    pub progress_every: Duration,
    /// How long a question outlives its client, and how long a late answer counts.
    pub ticket_life: Duration,
    /// So many questions of one client may wait at once.
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

/// A person's yes to one call, this once, with the run that identical calls share.
#[derive(Debug)]
pub(crate) struct Yes {
    pub(crate) ask: AskId,
    pub(crate) run: Run,
    /// How many pauses there were before the question was put. A yes does not outlive a pause.
    pauses: u64,
}

/// What came of a question about a call.
#[derive(Debug)]
pub(crate) enum Settled {
    /// This very call may run, this once.
    Allowed(Yes),
    /// It may not.
    Denied(AskId, Option<String>),
    /// The rules changed, or the approval went to another call: judge anew.
    JudgeAnew,
    /// Nobody answered.
    Lapsed(AskId),
}

/// How long a call may wait for a person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// When it came in.
    pub(crate) since: Instant,
    /// So long after that its client is told to call again.
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

/// Most bytes of arguments that wait for a person: of one client, and of all together. A call may have
/// 16 MiB, and 64 calls of each client may wait.
const CLIENT_BYTES: usize = 32 * 1024 * 1024;
const ALL_BYTES: usize = 128 * 1024 * 1024;

/// Most bytes of the questions about calls that one reply has with their details. A larger question comes as
/// the only one of its reply, so that each can be read.
const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Bytes that hold one argument, in memory and in a reply, beside its name and text: many small arguments take
/// room as well.
const HOLDER_BYTES: usize = 64;

/// Most bytes of all questions that are not about calls. A server may send 64 of 1 MiB.
const PLAIN_BYTES: usize = 16 * 1024 * 1024;

/// No room for another question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// So many of this client wait, which is the most.
    Count(usize),
    /// What waits is too large already.
    Bytes,
}

/// Bytes of arguments as they are shown.
pub(crate) fn shown_bytes(arguments: &[ShownArgument]) -> usize {
    arguments.iter().map(|argument| argument.name.len() + argument.text.len()).sum()
}

/// Bytes of a question about a call: its arguments, what holds each of them, what is offered, and all that is
/// announced of it.
fn call_size(announced: &CallAsk, details: &CallDetails) -> usize {
    let CallDetails { arguments, choices, denials, conditions } = details;
    let rest = serde_json::to_vec(&(announced, choices, denials, conditions));
    // What cannot be written is too large for every limit.
    let rest = rest.map_or(usize::MAX, |text| text.len());
    let holders = arguments.len().saturating_mul(HOLDER_BYTES);
    rest.saturating_add(shown_bytes(arguments)).saturating_add(holders)
}

/// Bytes of a question that is not about a call.
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

/// The questions that wait. Cheap to clone.
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
    /// What was let through and goes on, or has ended with nobody there.
    pub(crate) runs: Arc<Runs>,
    closing: CancellationToken,
    tracker: TaskTracker,
}

/// What a queue is made of beside the permissions.
pub(crate) struct QueueParts {
    /// Where events go.
    pub(crate) events: Arc<dyn EventSink>,
    /// How long what waits.
    pub(crate) patience: Patience,
    /// Checks what is entered in forms.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Looks up paths that conditions are about.
    pub(crate) paths: Arc<PathLookup>,
    /// What results that are kept count in.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
    /// Waits for the tasks of the queue.
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

    /// The questions that wait, oldest first. As many as one reply has room for come with their arguments and what
    /// they offer.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingAsk> {
        self.pending_beside(&[])
    }

    /// The same, those that are known without their arguments and what they offer. Of the others one at least has
    /// them, so that who asks again with what came as known gets them all.
    #[must_use]
    pub fn pending_beside(&self, known: &[AskId]) -> Vec<PendingAsk> {
        self.inner.desk.lock().pending(known)
    }

    /// How many questions wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.desk.lock().len()
    }

    /// One argument of a question about a call, with nothing masked: `place` counts the arguments as they
    /// are shown. Nobody but the caller gets to see it.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] when the question is gone or shows another call by now;
    /// [`ErrorCode::BadRequest`] when it is about no call or has no such argument.
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

    /// Answers questions: one, or a group that was shown together. All answers count or none.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] when a question is gone or shows another call by now; also when an
    /// answer makes no sense, was not offered, or cannot be written down. Then nothing has changed.
    pub async fn answer(&self, answers: Vec<AskAnswer>, by: &'static str) -> Result<(), Problem> {
        let queue = self.inner.clone();
        // The answer is carried to its end whatever becomes of whoever gave it.
        let done = self.inner.tracker.spawn(async move { queue.answer(answers, by).await }).await;
        done.unwrap_or_else(|_| Err(Problem::new(ErrorCode::Internal, "The answer could not be taken.")))
    }
}

impl AskUser for ApprovalQueue {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            // Calls come in by the call door alone.
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

/// The place of one waiting call at its question. Leaving it gives up waiting, not the question.
pub(crate) struct Seat {
    queue: Arc<Queue>,
    ask: AskId,
    no: u64,
    matter: Arc<Matter>,
    settled: oneshot::Receiver<Settled>,
}

impl Seat {
    /// The question.
    pub(crate) fn ask(&self) -> &AskId {
        &self.ask
    }

    /// Waits until the question is settled.
    pub(crate) async fn settled(&mut self) -> Settled {
        match (&mut self.settled).await {
            Ok(settled) => settled,
            Err(_) => Settled::Lapsed(self.ask.clone()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // An approval that came in the moment of leaving is not lost.
        if let Ok(Settled::Allowed(yes)) = self.settled.try_recv() {
            self.queue.give_back(&self.matter, yes);
        }
        self.queue.leave(&self.ask, self.no);
    }
}

/// The place of whoever asked something that is not a call; leaving it withdraws the question.
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

    /// The seat at a question for the same call of the same program, if one waits (PERM-11). What the
    /// question shows stays as it is.
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

    /// Takes a seat at the question for the same call, if one waits; for [`Queue::joined`] afterwards.
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
        // Each call that waits holds its own arguments; the first are those of the question.
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

    /// Tells of a call that joined a question; nothing is locked.
    fn joined(&self, pending: Option<PendingAsk>) {
        self.wake.notify_one();
        self.tell_change(pending);
    }

    /// Puts a question about a call, or takes a seat at the one that is there already.
    pub(crate) fn put(
        self: &Arc<Self>,
        matter: &Arc<Matter>,
        mut call: CallAsk,
        span: Span,
    ) -> Result<Seat, TooMany> {
        let details = call.take_details().unwrap_or_default();
        let size = call_size(&call, &details);
        // Under one lock, or two identical calls at once would each put a question.
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

    /// Puts a question that is not about a call.
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

    /// Gives up waiting. The last to leave turns the question into an offer for the next identical
    /// call.
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

    /// Makes a ticket of a yes whose call did not run because its client had left.
    pub(crate) fn give_back(&self, matter: &Matter, yes: Yes) {
        let Yes { ask, run, pauses } = yes;
        self.keep_late(matter, Late::new(ask, Word::Allowed, pauses));
        // Calls that share the run are judged anew, and the first of them uses the ticket.
        drop(run);
    }

    /// Keeps an answer that nobody waited for, unless there was a pause since the question was put or nothing
    /// tells where the call came from.
    fn keep_late(&self, matter: &Matter, late: Late) {
        let mut desk = self.desk.lock();
        if late.pauses == desk.pauses && matter.key.names_a_source() {
            let kept = Kept { late, client: matter.caller.client.id.clone(), until: self.ticket_end() };
            desk.late.insert(matter.key.clone(), kept);
        }
        drop(desk);
        self.wake.notify_one();
    }

    /// The late approval of this very call, if there is one. It is not used up by looking.
    pub(crate) fn ticket(&self, key: &CallKey) -> Option<AskId> {
        let desk = self.desk.lock();
        let kept = desk.late.get(key)?;
        (kept.late.word == Word::Allowed && kept.until > Instant::now()).then(|| kept.late.ask.clone())
    }

    /// Uses up the late approval; `None` when another call was quicker.
    pub(crate) fn use_ticket(&self, matter: &Matter, ask: &AskId) -> Option<Yes> {
        let mut desk = self.desk.lock();
        let kept = desk.late.get(&matter.key)?;
        if kept.late.word != Word::Allowed || kept.late.ask != *ask || kept.until <= Instant::now() {
            return None;
        }
        let Late { ask, pauses, .. } = desk.late.remove(&matter.key)?.late;
        Some(Yes { ask, pauses, run: self.runs.begin(matter) })
    }

    /// Uses up the late refusal of this very call, if there is one.
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
