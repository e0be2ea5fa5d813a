//! The data of the approval queue. No waiting and no notifications here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ask::CallDetails;
use gatehouse_model::{Answer, Ask, AskId, CallHash, ClientId, PendingAsk, Timestamp};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{REPLY_BYTES, Settled};
use crate::matter::Matter;
use crate::runs::CallKey;

/// Changes in whether a client waits are announced at most once in this interval per client: a client that
/// calls and leaves repeatedly must not keep the answer buttons disabled.
const ANNOUNCE_APART: Duration = Duration::from_secs(3);

/// One pending request.
pub(super) struct Question {
    pub(super) id: AskId,
    pub(super) asked_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) deadline: Instant,
    /// Without the details.
    pub(super) ask: Ask,
    /// The details of an approval request for a call.
    pub(super) details: Option<CallDetails>,
    /// Size in bytes, counted against the limits.
    pub(super) size: usize,
    pub(super) about: About,
    /// Whether a call waits, as last announced.
    pub(super) presence: Presence,
    /// When a change of `presence` is to be announced.
    pub(super) announce_at: Option<Instant>,
    /// Whether the stored permissions were verified when the choices were computed.
    pub(super) rights_verified: bool,
    /// Value of the pause counter when the request was made.
    pub(super) pauses: u64,
    /// An answer is being written to the audit. Until that is done, the request neither ends nor takes another
    /// answer.
    pub(super) answering: bool,
}

/// Whether any call waits for a request, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) waiting: bool,
    pub(super) until: Option<Timestamp>,
}

/// What a request is about, with those that wait for the answer.
pub(super) enum About {
    /// A call. Without waiters, the request stays pending for the next identical call.
    Call { matter: Arc<Matter>, waiters: Vec<Waiter> },
    /// A server's request.
    Plain(Option<oneshot::Sender<Answer>>),
}

/// One waiting call.
pub(super) struct Waiter {
    pub(super) no: u64,
    pub(super) to: oneshot::Sender<Settled>,
    /// When the call came in.
    pub(super) since: Instant,
    /// When its client is told to call again.
    pub(super) until: Timestamp,
}

/// An answer that came after all calls had left.
pub(super) struct Late {
    pub(super) ask: AskId,
    pub(super) word: Word,
    /// Value of the pause counter when the request was made.
    pub(super) pauses: u64,
}

impl Late {
    pub(super) fn new(ask: AskId, word: Word, pauses: u64) -> Self {
        Self { ask, word, pauses }
    }
}

/// A late answer with its expiry; valid for one identical call.
pub(super) struct Kept {
    pub(super) late: Late,
    pub(super) client: ClientId,
    pub(super) until: Instant,
}

/// Content of a late answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Allowed,
    Refused(Option<String>),
}

impl Question {
    /// The request with all details.
    pub(super) fn whole(&self) -> PendingAsk {
        let mut pending = self.announced();
        if let (Ask::Call(call), Some(details)) = (&mut pending.ask, &self.details) {
            call.put_details(details.clone());
        }
        pending
    }

    /// The request without its details because the reply has no room for them.
    fn abridged(&self) -> PendingAsk {
        let mut pending = self.announced();
        if let Ask::Call(call) = &mut pending.ask {
            call.is_abridged = true;
        }
        pending
    }

    /// The request without its details, which can be large; as it is announced in events.
    pub(super) fn announced(&self) -> PendingAsk {
        let mut ask = self.ask.clone();
        if let Ask::Call(call) = &mut ask {
            call.client_waits_until = self.presence.until;
        }
        PendingAsk {
            id: self.id.clone(),
            asked_at: self.asked_at,
            expires_at: self.expires_at,
            ask,
            waiting: self.presence.waiting,
        }
    }

    /// Bytes of the request, counted once per waiting call.
    fn held(&self) -> usize {
        match &self.about {
            About::Call { waiters, .. } => self.size.saturating_mul(waiters.len().max(1)),
            About::Plain(_) => self.size,
        }
    }

    /// The current presence. An announced `until` is kept as long as it is in the future and not later than
    /// the last waiter.
    fn present(&self, now: Timestamp) -> Presence {
        let About::Call { waiters, .. } = &self.about else { return self.presence };
        let last = waiters.iter().map(|waiter| waiter.until).max();
        let until =
            self.presence.until.filter(|until| last.is_some_and(|last| now < *until && *until <= last));
        Presence { waiting: last.is_some(), until: until.or(last) }
    }

    pub(super) fn matter(&self) -> Option<&Arc<Matter>> {
        match &self.about {
            About::Call { matter, .. } => Some(matter),
            About::Plain(_) => None,
        }
    }
}

/// Bytes of requests with details in one reply.
#[derive(Default)]
struct ReplyRoom {
    taken: usize,
}

impl ReplyRoom {
    /// Reserves room for a request of this size. Always succeeds for the first one.
    fn takes(&mut self, size: usize) -> bool {
        let after = self.taken.saturating_add(size);
        let fits = self.taken == 0 || after <= REPLY_BYTES;
        if fits {
            self.taken = after;
        }
        fits
    }
}

/// All pending requests, in the order in which they came.
#[derive(Default)]
pub(super) struct Desk {
    questions: BTreeMap<u64, Question>,
    places: HashMap<AskId, u64>,
    hashes: HashMap<CallHash, u64>,
    pub(super) late: HashMap<CallKey, Kept>,
    /// Pause counter: how often all approval requests for calls were ended at once.
    pub(super) pauses: u64,
    /// When a change of presence was last announced, per client.
    announced: HashMap<ClientId, Instant>,
    count: u64,
}

impl Desk {
    /// A new unique number.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(super) fn len(&self) -> usize {
        self.questions.len()
    }

    pub(super) fn insert(&mut self, question: Question) {
        let place = self.next();
        self.places.insert(question.id.clone(), place);
        if let Some(matter) = question.matter() {
            self.hashes.insert(matter.shown_hash.clone(), place);
        }
        self.questions.insert(place, question);
    }

    pub(super) fn remove(&mut self, ask: &AskId) -> Option<Question> {
        let question = self.questions.remove(&self.places.remove(ask)?)?;
        if let Some(matter) = question.matter() {
            self.hashes.remove(&matter.shown_hash);
        }
        Some(question)
    }

    pub(super) fn get(&mut self, ask: &AskId) -> Option<&mut Question> {
        self.questions.get_mut(self.places.get(ask)?)
    }

    pub(super) fn by_hash(&mut self, hash: &CallHash) -> Option<&mut Question> {
        self.questions.get_mut(self.hashes.get(hash)?)
    }

    /// All requests. Those in `known` come without their details, and of the others those that don't fit into
    /// the reply.
    pub(super) fn pending(&self, known: &[AskId]) -> Vec<PendingAsk> {
        let mut room = ReplyRoom::default();
        let each = |question: &Question| {
            if question.details.is_none() || known.contains(&question.id) {
                question.announced()
            } else if room.takes(question.size) {
                question.whole()
            } else {
                question.abridged()
            }
        };
        self.questions.values().map(each).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Question> {
        self.questions.values()
    }

    /// Number of pending calls of one client.
    pub(super) fn of_client(&self, client: &ClientId) -> usize {
        self.iter()
            .filter(|question| question.matter().is_some_and(|matter| matter.caller.client.id == *client))
            .count()
    }

    /// Bytes of pending calls: of one client, and in total.
    pub(super) fn bytes(&self, client: &ClientId) -> (usize, usize) {
        self.iter().fold((0, 0), |(own, all), question| match question.matter() {
            Some(matter) if matter.caller.client.id == *client => {
                (own + question.held(), all + question.held())
            }
            Some(_) => (own, all + question.held()),
            None => (own, all),
        })
    }

    /// Bytes of the requests that aren't about calls.
    pub(super) fn plain_bytes(&self) -> usize {
        self.iter().filter(|question| question.matter().is_none()).map(|question| question.size).sum()
    }

    /// Number of requests that aren't about calls.
    pub(super) fn plain(&self) -> usize {
        self.iter().filter(|question| question.matter().is_none()).count()
    }

    /// When the next deadline, announcement or expiry is due.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let questions = self.iter().filter(|question| !question.answering).map(|question| question.deadline);
        let changes = self.iter().filter_map(|question| question.announce_at);
        questions.chain(changes).chain(self.late.values().map(|kept| kept.until)).min()
    }

    /// Updates whether calls wait for a request. Returns the request if the change is to be announced now;
    /// otherwise schedules the announcement if there is a change.
    pub(super) fn announce(&mut self, ask: &AskId, now: Timestamp) -> Option<PendingAsk> {
        let question = self.questions.get_mut(self.places.get(ask)?)?;
        let present = question.present(now);
        if present == question.presence {
            question.announce_at = None;
            return None;
        }
        let client = question.matter()?.caller.client.id.clone();
        let moment = Instant::now();
        let next = self.announced.get(&client).map(|last| *last + ANNOUNCE_APART);
        if let Some(next) = next.filter(|next| *next > moment) {
            question.announce_at = Some(next);
            return None;
        }
        self.announced.insert(client, moment);
        question.announce_at = None;
        question.presence = present;
        Some(question.announced())
    }

    /// The requests whose change of presence is due to be announced.
    pub(super) fn changes_due(&self) -> Vec<AskId> {
        let now = Instant::now();
        let due = |question: &&Question| question.announce_at.is_some_and(|at| at <= now);
        self.iter().filter(due).map(|question| question.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::ask::{AskClient, AskServer, Subject};
    use gatehouse_model::grant::{ClassReason, Classified, Condition, ConditionTest};
    use gatehouse_model::{
        AccessClass, CallAsk, Generation, GrantChoice, Message, OfferedChoice, OfferedCondition,
    };

    use super::*;
    use crate::approvals::call_size;

    fn asked() -> CallAsk {
        let client =
            AskClient { id: "c".into(), name: "C".into(), says: None, seen_from: None, session: None };
        let server = AskServer {
            id: "s".into(),
            generation: Generation(0),
            name: "S".into(),
            description: None,
            icon: String::new(),
        };
        let class =
            Classified { class: AccessClass::Write, reason: ClassReason::Default, reaches_outside: false };
        CallAsk {
            client,
            server,
            subject: Subject::Tool { name: "t".into() },
            title: "t".into(),
            exposed_name: "t".into(),
            class,
            arguments: None,
            argument_bytes: 0,
            is_abridged: false,
            hash: CallHash::new("h"),
            warnings: Vec::new(),
            changes: Vec::new(),
            choices: Vec::new(),
            denials: Vec::new(),
            conditions: Vec::new(),
            client_waits_until: None,
        }
    }

    fn offered(bytes: usize) -> Vec<OfferedChoice> {
        vec![OfferedChoice::new(&GrantChoice::once(), Message::new("x".repeat(bytes)))]
    }

    fn proposed(bytes: usize) -> Vec<OfferedCondition> {
        let test = ConditionTest::Equals { value: "1".into() };
        let condition = Condition { pointer: "/a".into(), test };
        vec![OfferedCondition { condition, sentence: Message::new("x".repeat(bytes)) }]
    }

    #[test]
    fn what_is_offered_takes_room_as_arguments_do() {
        let kinds: [fn(usize) -> CallDetails; 3] = [
            |bytes| CallDetails { choices: offered(bytes), ..CallDetails::default() },
            |bytes| CallDetails { denials: offered(bytes), ..CallDetails::default() },
            |bytes| CallDetails { conditions: proposed(bytes), ..CallDetails::default() },
        ];
        for details in kinds {
            let (small, large) = (details(1), details(1001));
            assert_eq!(call_size(&asked(), &large) - call_size(&asked(), &small), 1000, "{small:?}");
        }
    }

    #[test]
    fn details_are_left_out_together_and_put_back_together() {
        let details = CallDetails { choices: offered(1), conditions: proposed(1), ..CallDetails::default() };
        let mut call = asked();
        call.put_details(details.clone());
        assert!(call.arguments.is_some() && !call.choices.is_empty() && !call.conditions.is_empty());
        assert_eq!(call.take_details(), Some(details));
        assert_eq!(call, asked());
        assert_eq!(call.take_details(), None);
    }

    #[test]
    fn a_reply_has_room_for_one_question_at_least_and_for_no_more_than_its_bytes() {
        const HALF: usize = REPLY_BYTES / 2;
        for (sizes, taken) in [
            (&[HALF, HALF, 1][..], &[true, true, false][..]),
            (&[HALF, HALF + 1, HALF], &[true, false, true]),
            (&[REPLY_BYTES + 1, 1], &[true, false]),
            (&[usize::MAX, usize::MAX], &[true, false]),
        ] {
            let mut room = ReplyRoom::default();
            let found: Vec<bool> = sizes.iter().map(|size| room.takes(*size)).collect();
            assert_eq!(found, taken, "{sizes:?}");
        }
    }
}
