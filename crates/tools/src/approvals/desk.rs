//! The questions as they lie on the desk. Plain data; nothing here waits or tells anybody.

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

/// Who waits for the questions of one client is announced at most once in this time: a client that calls and
/// leaves again and again must not keep the buttons asleep.
const ANNOUNCE_APART: Duration = Duration::from_secs(3);

/// One question.
pub(super) struct Question {
    pub(super) id: AskId,
    pub(super) asked_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) deadline: Instant,
    /// Without the details.
    pub(super) ask: Ask,
    /// The details of a question about a call.
    pub(super) details: Option<CallDetails>,
    /// Bytes of what is asked about.
    pub(super) size: usize,
    pub(super) about: About,
    /// Who waits, as it was announced last.
    pub(super) presence: Presence,
    /// When a change of that is announced.
    pub(super) announce_at: Option<Instant>,
    /// Whether the stored rights could be verified when the choices were made.
    pub(super) rights_verified: bool,
    /// How many pauses there were before it was put.
    pub(super) pauses: u64,
    /// An answer is being written down; until that is done the question neither ends nor takes
    /// another answer.
    pub(super) answering: bool,
}

/// Whether somebody waits for a question, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    pub(super) waiting: bool,
    pub(super) until: Option<Timestamp>,
}

/// What a question is about and who waits for it.
pub(super) enum About {
    /// A call; nobody waits when it is an offer for the next identical one.
    Call { matter: Arc<Matter>, waiters: Vec<Waiter> },
    /// Anything else.
    Plain(Option<oneshot::Sender<Answer>>),
}

/// One call that waits.
pub(super) struct Waiter {
    pub(super) no: u64,
    pub(super) to: oneshot::Sender<Settled>,
    /// When the call came in.
    pub(super) since: Instant,
    /// When its client is told to call again.
    pub(super) until: Timestamp,
}

/// An answer that came when nobody waited any more.
pub(super) struct Late {
    pub(super) ask: AskId,
    pub(super) word: Word,
    /// How many pauses there were before its question was put.
    pub(super) pauses: u64,
}

impl Late {
    pub(super) fn new(ask: AskId, word: Word, pauses: u64) -> Self {
        Self { ask, word, pauses }
    }
}

/// The same while it is good for one identical call.
pub(super) struct Kept {
    pub(super) late: Late,
    pub(super) client: ClientId,
    pub(super) until: Instant,
}

/// What a late answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Allowed,
    Refused(Option<String>),
}

impl Question {
    /// The question with everything that is in it.
    pub(super) fn whole(&self) -> PendingAsk {
        let mut pending = self.announced();
        if let (Ask::Call(call), Some(details)) = (&mut pending.ask, &self.details) {
            call.put_details(details.clone());
        }
        pending
    }

    /// The question without its details, for which the reply has no room.
    fn abridged(&self) -> PendingAsk {
        let mut pending = self.announced();
        if let Ask::Call(call) = &mut pending.ask {
            call.is_abridged = true;
        }
        pending
    }

    /// The question without its details, which can be large.
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

    /// Bytes of what is asked about, for each call that waits with it.
    fn held(&self) -> usize {
        match &self.about {
            About::Call { waiters, .. } => self.size.saturating_mul(waiters.len().max(1)),
            About::Plain(_) => self.size,
        }
    }

    /// Who waits now. The moment that was announced stands for as long as it is not over.
    fn present(&self, now: Timestamp) -> Presence {
        let About::Call { waiters, .. } = &self.about else { return self.presence };
        let last = waiters.iter().map(|waiter| waiter.until).max();
        let until =
            self.presence.until.filter(|until| last.is_some_and(|last| now < *until && *until <= last));
        Presence { waiting: last.is_some(), until: until.or(last) }
    }

    /// The call that it is about.
    pub(super) fn matter(&self) -> Option<&Arc<Matter>> {
        match &self.about {
            About::Call { matter, .. } => Some(matter),
            About::Plain(_) => None,
        }
    }
}

/// What a reply holds of questions with their details.
#[derive(Default)]
struct ReplyRoom {
    taken: usize,
}

impl ReplyRoom {
    /// Takes a question of so many bytes in, if there is room for it. There always is for the first.
    fn takes(&mut self, size: usize) -> bool {
        let after = self.taken.saturating_add(size);
        let fits = self.taken == 0 || after <= REPLY_BYTES;
        if fits {
            self.taken = after;
        }
        fits
    }
}

/// All questions, in the order in which they came.
#[derive(Default)]
pub(super) struct Desk {
    questions: BTreeMap<u64, Question>,
    places: HashMap<AskId, u64>,
    hashes: HashMap<CallHash, u64>,
    pub(super) late: HashMap<CallKey, Kept>,
    /// How often all questions about calls were ended.
    pub(super) pauses: u64,
    /// When somebody's coming or going was announced last, by client.
    announced: HashMap<ClientId, Instant>,
    count: u64,
}

impl Desk {
    /// A number that was not given before.
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

    /// All questions. Those that are known come without their details, and of the others those for which the
    /// reply has no room.
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

    /// Questions of one client.
    pub(super) fn of_client(&self, client: &ClientId) -> usize {
        self.iter()
            .filter(|question| question.matter().is_some_and(|matter| matter.caller.client.id == *client))
            .count()
    }

    /// Bytes of the calls that wait: those of one client, and all.
    pub(super) fn bytes(&self, client: &ClientId) -> (usize, usize) {
        self.iter().fold((0, 0), |(own, all), question| match question.matter() {
            Some(matter) if matter.caller.client.id == *client => {
                (own + question.held(), all + question.held())
            }
            Some(_) => (own, all + question.held()),
            None => (own, all),
        })
    }

    /// Bytes of the questions that are not about calls.
    pub(super) fn plain_bytes(&self) -> usize {
        self.iter().filter(|question| question.matter().is_none()).map(|question| question.size).sum()
    }

    /// Questions that are not about calls.
    pub(super) fn plain(&self) -> usize {
        self.iter().filter(|question| question.matter().is_none()).count()
    }

    /// The next moment at which something ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let questions = self.iter().filter(|question| !question.answering).map(|question| question.deadline);
        let changes = self.iter().filter_map(|question| question.announce_at);
        questions.chain(changes).chain(self.late.values().map(|kept| kept.until)).min()
    }

    /// Takes note of who waits for a question now. What is to be announced at once; else it is later.
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

    /// The questions whose change is to be announced by now.
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

    /// A question about a call, without its details.
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
