//! The questions as they lie on the desk. Plain data; nothing here waits or tells anybody.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gatehouse_model::ask::ShownArgument;
use gatehouse_model::{Answer, Ask, AskId, CallHash, ClientId, PendingAsk, Timestamp};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Settled;
use crate::matter::Matter;

/// One question.
pub(super) struct Question {
    pub(super) id: AskId,
    pub(super) asked_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) deadline: Instant,
    /// Without the arguments.
    pub(super) ask: Ask,
    /// The arguments of a call.
    pub(super) arguments: Option<Vec<ShownArgument>>,
    pub(super) about: About,
    /// An answer is being written down; until that is done the question neither ends nor takes
    /// another answer.
    pub(super) answering: bool,
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
}

/// An answer that came when nobody waited any more; good for one identical call.
pub(super) struct Late {
    pub(super) ask: AskId,
    pub(super) client: ClientId,
    pub(super) word: Word,
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
        if let Ask::Call(call) = &mut pending.ask {
            call.arguments.clone_from(&self.arguments);
        }
        pending
    }

    /// The question without its arguments, which can be large.
    pub(super) fn announced(&self) -> PendingAsk {
        PendingAsk {
            id: self.id.clone(),
            asked_at: self.asked_at,
            expires_at: self.expires_at,
            ask: self.ask.clone(),
            waiting: match &self.about {
                About::Call { waiters, .. } => !waiters.is_empty(),
                About::Plain(to) => to.is_some(),
            },
        }
    }

    /// The call that it is about.
    pub(super) fn matter(&self) -> Option<&Arc<Matter>> {
        match &self.about {
            About::Call { matter, .. } => Some(matter),
            About::Plain(_) => None,
        }
    }
}

/// All questions, in the order in which they came.
#[derive(Default)]
pub(super) struct Desk {
    questions: BTreeMap<u64, Question>,
    places: HashMap<AskId, u64>,
    hashes: HashMap<CallHash, u64>,
    pub(super) late: HashMap<CallHash, Late>,
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
            self.hashes.insert(matter.hash.clone(), place);
        }
        self.questions.insert(place, question);
    }

    pub(super) fn remove(&mut self, ask: &AskId) -> Option<Question> {
        let question = self.questions.remove(&self.places.remove(ask)?)?;
        if let Some(matter) = question.matter() {
            self.hashes.remove(&matter.hash);
        }
        Some(question)
    }

    pub(super) fn get(&mut self, ask: &AskId) -> Option<&mut Question> {
        self.questions.get_mut(self.places.get(ask)?)
    }

    pub(super) fn by_hash(&mut self, hash: &CallHash) -> Option<&mut Question> {
        self.questions.get_mut(self.hashes.get(hash)?)
    }

    pub(super) fn pending(&self, known: &[AskId]) -> Vec<PendingAsk> {
        let each = |question: &Question| {
            if known.contains(&question.id) { question.announced() } else { question.whole() }
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

    /// Questions that are not about calls.
    pub(super) fn plain(&self) -> usize {
        self.iter().filter(|question| question.matter().is_none()).count()
    }

    /// The next moment at which something ends.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let questions = self.iter().filter(|question| !question.answering).map(|question| question.deadline);
        questions.chain(self.late.values().map(|late| late.until)).min()
    }
}
